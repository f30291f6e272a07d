"""Records of the daemon's APIs: what requests carry and answers return. Server and SDK both use them."""
