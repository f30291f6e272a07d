#!/bin/sh
# Asks Assent whether a tool call may run. Needs a POSIX shell and curl, nothing else.
#
#   ASSENT_URL          where the daemon is, for example http://host.docker.internal:7422
#   ASSENT_TOKEN        an agent's token, or ASSENT_TOKEN_FILE, a file that contains it
#   ASSENT_AGENT        the format: docker-agent (default) or generic
#   ASSENT_WAIT         how many seconds to wait for a person (default 300)
#   ASSENT_MARGIN       how many seconds more the daemon has to answer (default 10)
#
# The call is read from stdin and sent as it is. Exit code 0 lets the call run, and only a clear allow by the daemon
# gives it: everything else is a denial, as JSON on stdout, and exit code 2.

set -f
agent=${ASSENT_AGENT:-docker-agent}
wait=${ASSENT_WAIT:-300}
margin=${ASSENT_MARGIN:-10}

refuse() {
    # Only fixed texts are passed here, so that the output is valid JSON.
    printf '{"allow":false,"decision":"block","reason":"%s","hook_specific_output":' "$1"
    printf '{"hook_event_name":"pre_tool_use","permission_decision":"deny","permission_decision_reason":"%s"}}\n' "$1"
    exit 2
}

trap 'refuse "Blocked: the permission check was interrupted"' HUP INT TERM

case $agent in '' | *[!a-z0-9-]*) refuse "Blocked: ASSENT_AGENT is not an agent's name" ;; esac
case $wait in '' | *[!0-9]* | ???????*) refuse "Blocked: ASSENT_WAIT is not a number of seconds" ;; esac
case $margin in '' | *[!0-9]* | ????*) refuse "Blocked: ASSENT_MARGIN is not a number of seconds" ;; esac
case ${ASSENT_URL:-} in http://?* | https://?*) ;; *) refuse "Blocked: ASSENT_URL is not set" ;; esac
case $ASSENT_URL in *[!A-Za-z0-9:/._%\[\]-]*) refuse "Blocked: ASSENT_URL is not a plain address" ;; esac

if [ -n "${ASSENT_TOKEN_FILE:-}" ]; then
    token=
    { read -r token || [ -n "$token" ]; } <"$ASSENT_TOKEN_FILE" 2>/dev/null || refuse "Blocked: cannot read the token file"
else
    token=${ASSENT_TOKEN:-}
fi
case $token in '' | *[!A-Za-z0-9_.~-]*) refuse "Blocked: there is no token for Assent" ;; esac
command -v curl >/dev/null 2>&1 || refuse "Blocked: curl is not installed"

# The environment of the agent's commands: values of variables that programs act on, names of the others, no secrets.
# Values on one line of `export -p` are sent; those with several lines or quotes are not.
judged() {
    # JUDGED
    case $1 in
        *PATH | *VIMRC | *_CMD | *_COMMAND | *_CONFIG | *_CONFIG_* | *_EDITOR | *_FLAGS | *_HOME | *_HOST | \
        *_OPTIONS | *_OPTS | *_PAGER | *_PRELOAD | *_PROXY | *_WRAPPER | *_proxy | ACKRC | ANSIBLE_* | \
        APT_CONFIG | AR | ASDF_* | ASSENT_* | AWS_* | AZURE_* | BASH | BASHOPTS | BASHPID | BASH_* | BAT_* | \
        BROWSER | BUNDLE_* | BUN_* | BZIP* | CARGO_* | CC | CCACHE_* | CDPATH | CFLAGS | CLASSPATH | \
        CLAUDE_CODE_SHELL* | CLAUDE_ENV_FILE | CLOUDSDK_* | CMAKE_* | COMP_* | CONDA_* | CORECLR_* | \
        COREPACK_* | COR_* | COVERAGE_PROCESS_START | CPP | CURL_* | CXX | CXXFLAGS | DELTA_* | DENO_* | \
        DIRENV_CONFIG | DIRSTACK | DOCKER_* | DOTNET_* | DOTNET_ADDITIONAL_DEPS | DOTNET_STARTUP_HOOKS | \
        DYLD_* | EDITOR | ELECTRON_* | ELIXIR_* | ENV | ERL_* | EXECIGNORE | EXINIT | FCEDIT | FIGNORE | \
        FONTCONFIG_* | FPATH | FZF_* | GCC_EXEC_PREFIX | GCONV_* | GEM_* | GH_* | GIO_* | GIT_* | GLAB_* | \
        GLIBC_* | GLOBIGNORE | GNUMAKEFLAGS | GNUPG* | GO* | GOOGLE_* | GPG_* | GRADLE_* | GREP_* | GROFF_* \
        | GST_* | GTK_* | GUILE_* | GVIMINIT | GZIP | HELM_* | HG* | HIST* | HISTCMD | HISTFILE | HOME | \
        HOSTALIASES | HOSTNAME | IFS | INPUTRC | JAVA_* | JDK_* | JQ_* | JULIA_* | KRB5_* | KUBE* | LANG | \
        LANGUAGE | LC_* | LD | LDFLAGS | LD_* | LEIN_* | LESS* | LOCALDOMAIN | LOCPATH | LOGNAME | LUA_* | \
        MAGICK_* | MAIL* | MAKE* | MALLOC_* | MAN* | MANPAGER | MAVEN_* | MISE_* | MORE | MYSQL_* | NLSPATH \
        | NODE_* | NPM_* | NULLCMD | OCAML* | ODBC* | OLDPWD | OPENSSL_* | OPTIND | PAGER | PATH | PDM_* | \
        PERL* | PG* | PHP* | PIPENV_* | PIP_* | PKG_CONFIG* | POETRY_* | POSIXLY_CORRECT | PRE_COMMIT_* | \
        PROMPT_* | PROMPT_COMMAND | PS0 | PS1 | PS2 | PS3 | PS4 | PSQLRC | PSQL_* | PWD | PYENV_* | \
        PYTEST_ADDOPTS | PYTEST_PLUGINS | PYTHON* | QT_* | RANDOM | RBENV_* | READNULLCMD | REQUESTS_* | \
        RIPGREP_* | RSYNC_* | RUBY* | RUST* | R_* | SCREENRC | SECONDS | SHELL | SHELLOPTS | SRANDOM | SSH_* \
        | SSLKEYLOGFILE | SSL_* | STARSHIP_* | SUDO_* | SVN_* | SYSTEM_WGETRC | TAR_* | TCL* | TERM | \
        TERMCAP | TERMINFO | TERMINFO_DIRS | TERRAGRUNT_* | TEXINPUTS | TEXMF* | TF_* | TMPDIR | TZ | TZDIR \
        | USER | UV_* | VAGRANT_* | VAULT_* | VIMINIT | VIMRUNTIME | VIRTUAL_ENV | VISUAL | VOLTA_* | WGETRC \
        | XDG_* | XZ_* | YARN_* | ZDOTDIR | ZSTD_* | _JAVA_* | __PYVENV_LAUNCHER__ | npm_* | which_declare) return 0 ;;
    esac
    # END
    return 1
}
secret() {
    case $1 in
        AWS_SHARED_CREDENTIALS_FILE | GOOGLE_APPLICATION_CREDENTIALS) return 1 ;; # they name a file
        *[Tt][Oo][Kk][Ee][Nn]* | *[Ss][Ee][Cc][Rr][Ee][Tt]* | *[Pp][Aa][Ss][Ss][Ww]* | *PASSPHRASE* | *_PASS | *_PASS_*) return 0 ;;
        *CRED | *CRED_* | *CREDS* | *CREDENTIAL* | *_AUTH | *_AUTH_* | AUTH_* | *COOKIE* | *DSN* | *_PAT | *_PAT_*) return 0 ;;
        *WEBHOOK* | *JWT* | *BEARER* | *CONN_* | *CONNECTION_* | *_KEY | *_key | *_PWD | *_SK | *APIKEY*) return 0 ;;
        *API_KEY* | *ACCESS_KEY* | *PRIVATE_KEY* | MYSQL_UR[IL]) return 0 ;;
    esac
    return 1
}
escape() {
    escaped=
    while [ -n "$1" ]; do
        tail=${1#?}
        char=${1%"$tail"}
        case $char in
            [A-Za-z0-9_./:,+@~-]) escaped=$escaped$char ;;
            *) escaped=$escaped$(printf '%%%02X' "'$char") ;;
        esac
        set -- "$tail"
    done
}
tell() {
    name=$1 value=$2
    case $name in '' | *[!A-Za-z0-9_]*) return ;; esac
    environment=$environment\&$name
    if ! judged "$name" || secret "$name" || [ "${#value}" -gt 8000 ]; then return; fi
    case $value in
        \'*\'*\'* | \"*[\"\\\$\`]*\") return ;;
        \'*\') value=${value#\'} value=${value%\'} ;;
        \"*\") value=${value#\"} value=${value%\"} ;;
        *[!A-Za-z0-9_./:,+@~-]*) return ;;
    esac
    case $value in
        *[!A-Za-z0-9_./:,+@~-]*) [ "${#value}" -le 500 ] || return; escape "$value" ;;
        *) escaped=$value ;;
    esac
    environment=$environment=$escaped
}
environment=
listed=$(export -p) || refuse "Blocked: cannot read the environment"
# Other shells do not list exported bash functions: find them with `tr`, if it is installed.
functions=$({ tr '\0' '\n' <"/proc/$$/environ" || env; } 2>/dev/null) || functions=
while IFS= read -r line; do
    line=${line#declare -x }
    line=${line#export }
    case $line in *=*) tell "${line%%=*}" "${line#*=}" ;; esac
done <<LISTED
$listed
LISTED
while IFS= read -r line; do
    case $line in
        BASH_FUNC_*=*)
            escape "${line%%=*}"
            environment=$environment\&$escaped
            ;;
    esac
done <<LISTED
$functions
LISTED
[ "${#environment}" -le 40000 ] || refuse "Blocked: the agent's environment is too large to send"

# Pass the token through a descriptor, since other processes can read arguments. Ignore curlrc and proxies.
answer=$(
    curl -q --config /dev/fd/3 --noproxy '*' --globoff --silent --include --max-time "$((wait + margin))" \
        --connect-timeout "$((margin + 1))" --request POST --data-binary @- \
        --header 'Content-Type: application/json' --header 'Expect:' \
        "${ASSENT_URL%/}/api/hooks/$agent?wait=$wait" 3<<CONFIG 2>/dev/null
header = "Authorization: Bearer $token"
header = "X-Assent-Environment: ${environment#&}"
CONFIG
) || refuse "Blocked: cannot reach Assent, or no answer in time"

line_end=$(printf '\r')
newline='
'
gap="$line_end$newline$line_end$newline"
case $answer in *"$gap"*) ;; *) refuse "Blocked: invalid answer from Assent" ;; esac
head=${answer%%"$gap"*}
body=${answer#*"$gap"}
status=${head%%"$line_end"*}

case $status in
    "HTTP/"*" 200" | "HTTP/"*" 200 "*) ;;
    "HTTP/"*" 401"*) refuse "Blocked: Assent does not know this token" ;;
    "HTTP/"*" 403"*) refuse "Blocked: Assent refuses this request" ;;
    *) refuse "Blocked: Assent answered with an error" ;;
esac

code=
while IFS= read -r line; do
    case $line in
        [Xx]-[Aa][Ss][Ss][Ee][Nn][Tt]-[Ee][Xx][Ii][Tt]:*)
            [ -z "$code" ] || refuse "Blocked: invalid answer from Assent"
            code=${line#*:}
            code=${code%"$line_end"}
            code=${code# }
            ;;
    esac
done <<HEAD
$head
HEAD

case $body in '{'*'}') ;; *) refuse "Blocked: invalid answer from Assent" ;; esac
case $code in
    0 | 2)
        # A partly written answer could make the agent run something else.
        printf '%s\n' "$body" || exit 2
        exit "$code"
        ;;
    *) refuse "Blocked: invalid answer from Assent" ;;
esac
