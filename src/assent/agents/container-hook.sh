#!/bin/sh
# Asks Assent whether a tool call may run. Needs a POSIX shell and curl, nothing else.
#
#   ASSENT_URL          where the daemon is, for example http://host.docker.internal:7422
#   ASSENT_TOKEN        an agent's token, or ASSENT_TOKEN_FILE, a file that holds it
#   ASSENT_AGENT        whose words to speak: docker-agent (default) or generic
#   ASSENT_WAIT         how many seconds to wait for a person (default 300)
#   ASSENT_MARGIN       how many seconds more the daemon has to answer (default 10)
#
# The call is read from stdin and sent as it is. Exit code 0 lets the call run, and only a clear allow by the daemon
# gives it: whatever else happens is a denial, as JSON on stdout, and exit code 2.

set -f
agent=${ASSENT_AGENT:-docker-agent}
wait=${ASSENT_WAIT:-300}
margin=${ASSENT_MARGIN:-10}

refuse() {
    # Only our own words come here, so that this is JSON whatever happened.
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
    { read -r token || [ -n "$token" ]; } <"$ASSENT_TOKEN_FILE" 2>/dev/null || refuse "Blocked: the token file can not be read"
else
    token=${ASSENT_TOKEN:-}
fi
case $token in '' | *[!A-Za-z0-9_.~-]*) refuse "Blocked: there is no token for Assent" ;; esac
command -v curl >/dev/null 2>&1 || refuse "Blocked: curl is not installed"

# The token goes by a descriptor: arguments can be read by every process. No settings file and no proxy have a say.
answer=$(
    curl -q --config /dev/fd/3 --noproxy '*' --globoff --silent --include --max-time "$((wait + margin))" \
        --connect-timeout "$((margin + 1))" --request POST --data-binary @- \
        --header 'Content-Type: application/json' --header 'Expect:' \
        "${ASSENT_URL%/}/api/hooks/$agent?wait=$wait" 3<<CONFIG 2>/dev/null
header = "Authorization: Bearer $token"
CONFIG
) || refuse "Blocked: Assent can not be reached, or did not answer in time"

line_end=$(printf '\r')
newline='
'
gap="$line_end$newline$line_end$newline"
case $answer in *"$gap"*) ;; *) refuse "Blocked: the answer of Assent can not be read" ;; esac
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
            [ -z "$code" ] || refuse "Blocked: the answer of Assent can not be read"
            code=${line#*:}
            code=${code%"$line_end"}
            code=${code# }
            ;;
    esac
done <<HEAD
$head
HEAD

case $body in '{'*'}') ;; *) refuse "Blocked: the answer of Assent can not be read" ;; esac
case $code in
    0 | 2)
        # An answer that is not heard whole may be the one that has something else run.
        printf '%s\n' "$body" || exit 2
        exit "$code"
        ;;
    *) refuse "Blocked: the answer of Assent can not be read" ;;
esac
