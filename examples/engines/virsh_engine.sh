#!/usr/bin/env bash
# Domains of one libvirt daemon as machines for forewarn, by virsh and jq: restart, pause, stop, start.
# Speaks the lines of docs/engine-protocol.md. In the region file:
#     [[engine]]
#     name = "by-virsh"
#     kind = "remote"
#     program = ["/usr/local/bin/virsh_engine.sh", "qemu:///system", "alpha"]
# It remembers nothing but the shutdowns that it waits for: what is there decides what is done next. forewarn's own
# libvirt engine does more (live migration, redeploy, reimage, hints); this one shows how little is needed.
set -uo pipefail
uri=${1:?the URI of the daemon} host=${2:?the name of the host in the region file}
boot=$(cat /proc/sys/kernel/random/boot_id)
declare -A job=() job_errand=() # by machine: a shutdown that is waited for, and for which errand

virsh_() { timeout 20 virsh -q -c "$uri" "$@" 2>&1; }

answer() { # NUMBER STATUS BODY
  jq -cn --argjson id "$1" --argjson status "$2" --argjson body "${3:-null}" '{$id, $status, $body}'
}
refuse() { # NUMBER STATUS SENTENCE [LASTING]
  answer "$1" "$2" "$(jq -cn --arg why "$3" --argjson lasting "${4:-true}" '{$why, $lasting}')"
}

look() { # REF: sets power and mark; 1: there is none; 2: libvirt does not say
  local state id
  power='' mark=''
  # a number could be taken for the id of another domain
  [[ -z $1 || $1 =~ ^[0-9]+$ || $1 == -* ]] && return 1
  if ! state=$(virsh_ domstate --domain "$1"); then
    [[ $state == *"failed to get domain"* || $state == *"Domain not found"* ]] && return 1
    said=$state
    return 2
  fi
  case $state in
    running* | idle* | blocked* | "in shutdown"* | "no state"*) power=running ;;
    paused* | pmsuspended*) power=paused ;;
    *) power=off ;;
  esac
  if [ "$power" != off ]; then
    id=$(virsh_ domid --domain "$1") || { said=$id; return 2; }
    [[ $id =~ ^[0-9]+$ ]] || { said="domid: $id"; return 2; }
    mark="$id@$boot" # a number that each start gets anew, of this boot of the host
  fi
}

why_off() { # REF: why it is off, in the protocol's words
  case $(virsh_ domstate --domain "$1" --reason) in
    *"(shutdown)"*) echo guest ;; # also after our own; forewarn knows what it asked for
    *"(crashed)"* | *"(failed)"*) echo crash ;;
    *"(destroyed)"*) echo asked ;;
    *) echo unknown ;;
  esac
}

machine() { # REF: as JSON, as look found it
  local why=unknown
  [ "$power" = off ] && why=$(why_off "$1")
  jq -cn --arg ref "$1" --arg host "$host" --arg power "$power" --arg boot_mark "$mark" --arg why "$why" \
    '{$ref, $host, $power, $boot_mark, $why}'
}

machines() { # NUMBER
  local ref names found=()
  names=$(virsh_ list --all --name) || { refuse "$1" 503 "$names"; return; }
  while IFS= read -r ref; do
    [ -n "$ref" ] || continue
    look "$ref" || { [ $? = 1 ] && continue; refuse "$1" 503 "$said"; return; }
    found+=("$(machine "$ref")")
  done <<<"$names"
  listed=$(printf '%s\n' "${found[@]}" | jq -cs .)
  answer "$1" 200 "$(jq -cn --arg host "$host" --argjson machines "$listed" --arg cursor "$(cursor)" \
    '{$host, complete: true, $cursor, $machines}')"
}
cursor() { sha256sum <<<"$listed" | cut -c1-16; }

step() { # what follows for the errand in $kind …: sets next to "done", "wait SENTENCE", "do CHANGE", "no SENTENCE"
  case $kind in
    start) runs ;;
    stop) [ "$power" = off ] && next=done || goes_off ;;
    restart)
      if [ "$power" = off ] || [ "$mark" != "$boot_mark" ]; then runs; else goes_off; fi
      ;;
    pause)
      if [ "$power" = off ]; then
        next="no $ref is off, so it cannot be paused."
      elif [ "$power" = paused ]; then
        over && next="do resume $ref $mark" || next="wait $ref is paused."
      elif over; then
        next=done
      elif [ "$again" = true ]; then
        next="wait The pause of $ref was asked for before, and is not begun again."
      else
        next="do suspend $ref $mark"
      fi
      ;;
    *) next="no This engine cannot $kind machines." ;;
  esac
}
over() { jq -en --argjson left "$left" '$left <= 0' >/dev/null; }
runs() {
  case $power in
    running) next=done ;;
    paused) next="do resume $ref $mark" ;;
    off) next="do start $ref" ;;
  esac
}
goes_off() { # one that is paused hears no button
  [ "$power" = paused ] && next="do resume $ref $mark" || next="do shutdown $ref $mark"
}

make() { # the change that was allowed
  case $1 in
    shutdown)
      (
        virsh_ shutdown --domain "$ref"
        for ((second = 0; second < ${grace%.*}; second++)); do
          [[ $(virsh_ domstate --domain "$ref") == "shut off"* ]] && exit
          sleep 1
        done
        [ "$(virsh_ domid --domain "$ref")@$boot" = "$mark" ] && virsh_ destroy --domain "$ref"
      ) >/dev/null &
      job[$ref]=$! job_errand[$ref]=$errand
      sleep 0.2
      ;;
    *) said=$(virsh_ "$1" --domain "$ref") ;;
  esac
}

put() { # NUMBER
  look "$ref" || {
    [ $? = 1 ] && refuse "$1" 422 "There is no domain $ref at $host." || refuse "$1" 503 "$said"
    return
  }
  if [ -n "${job[$ref]:-}" ] && kill -0 "${job[$ref]}" 2>/dev/null; then
    if [ "${job_errand[$ref]}" = "$errand" ]; then
      answer "$1" 202 '{"why": "It was asked to shut down.", "again_after": 1}'
    else
      refuse "$1" 409 "Errand ${job_errand[$ref]} is open on $ref."
    fi
    return
  fi
  step
  if [[ $next == "do "* && $leave == "${next#do }" ]]; then
    local words=$leave before=$power
    leave=''
    make "${words%% *}" || { look "$ref"; [ "$power" = "$before" ] && refuse "$1" 422 "$said" false && return; }
    put "$1"
    return
  fi
  case $next in
    done) answer "$1" 200 "$(jq -cn --argjson sighting "$(machine "$ref")" '{$sighting}')" ;;
    wait*) answer "$1" 202 "$(jq -cn --arg why "${next#wait }" '{$why, again_after: 1}')" ;;
    do*) answer "$1" 202 "$(jq -cn --arg asks "${next#do }" '{$asks}')" ;;
    no*) refuse "$1" 422 "${next#no }" ;;
  esac
}

# One request a line; the fields are parted by a character that no name has
fields='[.id, .method, .path, (.body|type), (.body | objects | .kind, .ref, .boot_mark, .leave, .again, .left, .grace)]
  | map(. // "" | tostring | gsub("[\u0000-\u001f]"; "?")) | join("\u001f")'
while IFS= read -r line; do
  IFS=$'\x1f' read -r number method path shape kind ref boot_mark leave again left grace \
    < <(jq -r "$fields" <<<"$line") || continue
  left=${left:-0} grace=${grace:-0} errand=${path#/v1/errands/} path=${path%%\?*}
  case "$method $path" in
    "GET /v1/engine")
      answer "$number" 200 "$(jq -cn --arg host "$host" '{protocol: 1, name: "libvirt by virsh",
        kinds: ["restart", "pause", "stop", "start"], hosts: [$host], offers: []}')"
      ;;
    "GET /v1/hosts/$host/machines") machines "$number" ;;
    "GET /v1/hosts/$host/changes") answer "$number" 200 "{\"cursor\": \"$RANDOM$RANDOM\"}" ;; # always worth a look
    "PUT /v1/errands/"*) [ "$shape" = object ] && put "$number" || refuse "$number" 400 "An errand is an object." ;;
    *) refuse "$number" 404 "There is no such thing here." ;; # errands, too: it remembers none
  esac
done
