"""Small languages inside commands and inputs: sed, awk, jq, SQL, patches, other shells."""
