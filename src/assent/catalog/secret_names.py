"""Secrets by their name: keys, credentials and histories, and the variables that hold them.

Patterns are looked for anywhere in a path, without regard to case; a folder counts with all that is in it.
"""

from __future__ import annotations

import functools

import assent.lazy_regex as re
from assent.catalog.name_matching import Names
from assent.model import fold

SECRETS = (
    ".env*",
    "*.env",
    ".flaskenv",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.asc",
    "*.p8",
    "*.pkcs12",
    "*.ppk",
    "*.ovpn",
    "*.keytab",
    "*.kdb",
    "*.gpg",
    "*.keyring",
    "*.kwl",
    "*.age",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".ssh",
    ".gnupg",
    ".password-store",
    ".aws",
    ".azure",
    ".kube",
    ".docker/config.json",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/git/credentials",
    ".config/doctl",
    ".config/hcloud",
    ".config/netlify",
    ".config/configstore",
    ".config/.wrangler",
    ".config/stripe",
    ".config/heroku",
    ".config/github-copilot",
    ".config/openai",
    ".config/wandb",
    ".config/ngrok",
    ".config/solana",
    ".config/filezilla",
    ".config/bitwarden*",
    ".config/1password",
    ".config/discord",
    ".config/slack",
    ".config/bravesoftware",
    ".config/microsoft-edge",
    ".config/glab-cli",
    ".config/helm/registry",
    ".config/pypoetry/auth.toml",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
    ".config/nuget",
    ".config/mc",
    ".config/fly*",
    ".config/vercel",
    ".terraformrc",
    ".oci",
    ".bluemix",
    ".aliyun",
    ".tccli",
    ".fly",
    ".netlify",
    ".wrangler/config",
    ".snowflake",
    ".snowsql",
    ".databrickscfg",
    ".dbt/profiles.yml",
    ".mylogin.cnf",
    ".msmtprc",
    ".mbsyncrc",
    ".offlineimaprc",
    ".fetchmailrc",
    ".esmtprc",
    ".smbcredentials",
    ".claude.json",
    ".huggingface",
    ".cache/huggingface/token",
    ".kaggle",
    ".ngrok2",
    ".cloudflared",
    ".age",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    ".purple",
    ".thunderbird",
    ".minikube",
    ".rediscli_auth",
    ".dockercfg",
    ".dockerconfigjson",
    ".vault_pass*",
    ".vault-pass*",
    "vault_pass*",
    "vault-pass*",
    "wp-config.php",
    "kubeconfig",
    "kubeconfig.*",
    "*.kubeconfig",
    "wallet.dat",
    "auth.json",
    "token.json",
    "token.txt",
    "tokens.json",
    "password.txt",
    "passwords.txt",
    "passwd.txt",
    "secret.txt",
    "secrets.txt",
    "secret.y*ml",
    "secret.json",
    "credentials.json",
    "credentials.y*ml",
    "credentials.yml.enc",
    "credentials.toml",
    "credentials.ini",
    "credentials.xml",
    "credentials.csv",
    "*-adminsdk*.json",
    "*serviceaccount*.json",
    "gcp-key*.json",
    "Library/Messages",
    "Library/Mail",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    "Library/Application Support/BraveSoftware",
    ".terraform.d/credentials*",
    "terraform.tfstate*",
    "*.tfvars",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".git-credentials",
    ".cargo/credentials*",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".vault-token",
    ".htpasswd",
    "credentials",
    "service-account*.json",
    "client_secret*.json",
    "secrets",
    "secrets.json",
    "secrets.y*ml",
    "secrets.toml",
    "secrets.env",
    ".secrets",
    "master.key",
    ".*_history",
    ".zhistory",
    ".viminfo",
    ".lesshst",
    ".local/share/fish/fish_history",
    "Library/Keychains",
    "Library/Cookies",
    "state.vscdb",
    "login.keychain*",
    ".mozilla/firefox",
    ".config/google-chrome",
    ".config/chromium",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
)
"""Reading one by name asks."""

SECRET_PATHS = (
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/master.passwd",
    "/private/etc/master.passwd",
    "/private/var/db/dslocal",
    "/library/keychains",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/ppp/*-secrets",
    "/etc/networkmanager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/mysql/debian.cnf",
    "/etc/docker/key.json",
    "/etc/letsencrypt",
    "/etc/security/opasswd",
    "/etc/sssd",
    "/var/lib/kubelet",
    "/var/lib/docker",
    "/var/lib/rancher",
    "/var/lib/sss",
    "/var/db/sudo",
    "/run/user/*/keyring",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh/ssh_host_*",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/*/maps",
    "/proc/*/task/*/environ",
    "/proc/*/task/*/mem",
    "/proc/*/task/*/maps",
    "/proc/kcore",
    "/dev/mem",
    "/dev/kmem",
    "/dev/sd*",
    "/dev/nvme*",
    "/dev/disk",
    "/run/secrets",
    "/var/run/secrets",
)

SECRET_FILES = {
    "HISTFILE": "~/.bash_history",
    "KUBECONFIG": "~/.kube/config",
    "NETRC": "~/.netrc",
    "PGPASSFILE": "~/.pgpass",
    "AWS_CONFIG_FILE": "~/.aws/config",
    "DOCKER_CONFIG": "~/.docker/config.json",
    "NPM_CONFIG_USERCONFIG": "~/.npmrc",
}
"""Variables that hold the path of one."""
SECRET_FOLDERS = {
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_DATA_HOME": "~/.local/share",
    "GH_CONFIG_DIR": "~/.config/gh",
    "CLOUDSDK_CONFIG": "~/.config/gcloud",
    "AZURE_CONFIG_DIR": "~/.azure",
    "CARGO_HOME": "~/.cargo",
    "DOCKER_CONFIG": "~/.docker",
    "GNUPGHOME": "~/.gnupg",
    "CODEX_HOME": "~/.codex",
    "CLAUDE_CONFIG_DIR": "~/.claude",
}
"""Variables that lead to a folder in which programs keep secrets among other things, and where it is as a rule."""

NOT_SECRET = (
    ".env.example",
    ".env.*.example",
    ".env-example",
    ".env_example",
    ".env.sample",
    ".env.template",
    ".env.tpl",
    ".env.dist",
    ".env.defaults",
    ".env.schema",
    "example.env",
    "sample.env",
    "template.env",
    "*.example.env",
    "*.pub",
    "*.pem.pub",
    "cacert.pem",
)
"""Made to be shown."""

SECRET_ANYWHERE = (
    "passw(?:or)?d|(?:db|user|admin|root|smtp|ftp|store|key|trust)pass|passphrase|pwd|secret|token|credential"  # noqa: S105 - words
    "|api[_.-]?key|apikey|authkey"
)
"""Words that make a secret's name of every name they are in …"""
SECRET_PARTS = (
    "pass|pw|psw|pswd|otp|mnemonic|seed[_.-]?phrase|pat|auth|creds?|cookie|dsn|jwt|bearer|webhook|sk"  # noqa: S105 - words
    "|(?:access|private)[_.-]?key|conn(?:ection)?[_.-]?str(?:ing)?"
)
"""… and those that do so as a part of it, between dashes, dots and underscores, or with letters of the other case."""
KEY_FORMS = (
    r"\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|gl[a-z]{2,4}-[\w-]{16,}"
    r"|xox[a-z]-[\w-]{10,}|sk-[\w-]{16,}|[srp]k_(?:live|test)_\w{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
    r"|npm_\w{20,}|pypi-[\w-]{20,}|hf_\w{20,}|SG\.[\w.-]{20,}|dop_v1_\w{20,}|assent_[\w-]{16,}"
    r"|AGE-SECRET-KEY-1[0-9A-Z]{20,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?)"
)
"""How keys look that are known by how they begin."""
SECRET_PARAMETERS = r"(?:[\w-]*[_-])?(?:key|sig|signature)|code|otp|pw|sid|session(?:[_-]?id)?|x-amz-credential"  # noqa: S105 - names
"""What makes a secret of a parameter of an address, besides the names above."""
_SECRET_NAME = re.compile(
    r"(?i)(^|_)(api_?key|access_?key|secret|token|pass(w(or)?d)?|passphrase|cred(ential)?s?|private_?key|auth|cookie|dsn|pat"
    r"|webhook|jwt|bearer|conn(ection)?_str(ing)?)(_|$)"
    r"|_key$|_pwd$|_sk$|apikey|secretkey|^pgpassword$|(database|redis|mongo(db)?|postgres(ql)?|mysql|amqp|broker|smtp)_ur[il]$"
)
_PUBLIC_NAMES = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "TOKENIZERS_PARALLELISM"})

_secret = Names(SECRETS, SECRET_PATHS)
_not_secret = Names(NOT_SECRET)
_KEEPERS = frozenset(name.partition("/")[0].lower() for name in SECRETS if "/" in name)


@functools.lru_cache(maxsize=4096)
def is_secret(path: str) -> bool:
    """Tell whether a path names a key, a credential or a history."""
    return _secret.find(path) and not _not_secret.find(path.rpartition("/")[2])


_ANYWHERE = re.compile(
    r"g?shadow-?|master\.passwd|sudoers|opasswd|krb5\.keytab|ssh_host_\w+_key|environ", re.IGNORECASE
)


def may_be_secret_name(path: str) -> bool:
    """Tell whether a file of this name is a secret in some folder: of one that is not known, it may be that."""
    return _ANYWHERE.fullmatch(path.rpartition("/")[2]) is not None


def keeps_secrets(path: str) -> bool:
    """Tell whether a folder is one in which programs keep their secrets: not all of it, and not by its own name."""
    return fold(path.rpartition("/")[2]) in _KEEPERS


_NAMED = re.compile(rf"(?i){SECRET_ANYWHERE}|(?:^|[_.-])(?:{SECRET_PARTS})(?:[_.-]|$)|[_.-]key(?:[_.-]|$)")
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_ABOUT = re.compile(r"(?i)[_.-]?(stdin|file|path|dir|env|type|ttl|length|name|count|limit|expiry|expires|budget)$")


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Tell whether a variable, an option, a field or a key of this name stands for a secret: one table for all of them.

    What only tells about one (`--password-stdin`, `max_tokens`) does not.
    """
    if name in _PUBLIC_NAMES or _ABOUT.search(name) is not None:
        return False
    plain = _CAMEL.sub(r"\1_\2", name)
    return _NAMED.search(plain) is not None or _SECRET_NAME.search(plain) is not None


def is_secret_variable(name: str) -> bool:
    """Tell whether a variable by this name holds a secret."""
    return name not in _PUBLIC_NAMES and _SECRET_NAME.search(name) is not None
