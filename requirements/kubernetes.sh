#!/usr/bin/env bash
# A kube-apiserver built from Debian's source package, and Debian's etcd, in .build/kubernetes. Nothing is installed but
# what the build needs; some six minutes of one core. Debian's package itself has only kubectl.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .build/kubernetes
cd .build/kubernetes
here="$PWD"
missing=()
for each in go:golang-go rsync:rsync jq:jq dpkg-source:dpkg-dev make:make openssl:openssl; do
  command -v "${each%%:*}" >/dev/null 2>&1 || missing+=("${each##*:}")
done
if [ "${#missing[@]}" -gt 0 ]; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null \
    || { echo "install these packages and try again: ${missing[*]}"; exit 1; }
fi

if [ ! -x etcd ]; then
  rm -rf unpacked ./*.deb
  apt-get download -qq -o APT::Sandbox::User=root etcd-server
  dpkg -x etcd-server_*.deb unpacked
  cp unpacked/usr/bin/etcd etcd
  rm -rf unpacked ./*.deb
fi

if [ ! -x kube-apiserver ]; then
  # Sources of the suites that this machine has, in lists of their own: the machine's stay as they are.
  mkdir -p parts lists home
  for each in /etc/apt/sources.list.d/*.sources; do
    sed 's/^Types:.*/Types: deb-src/' "$each" >"parts/$(basename "$each")"
  done
  [ ! -s /etc/apt/sources.list ] || sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >parts/machine.list
  options=(-o "Dir::Etc::sourceparts=$here/parts" -o Dir::Etc::sourcelist=/dev/null
    -o "Dir::State::lists=$here/lists" -o APT::Sandbox::User=root)
  apt-get -qq "${options[@]}" update
  rm -rf src ./*.dsc ./*.tar.*
  apt-get -qq "${options[@]}" source --download-only kubernetes
  dpkg-source --no-check -x kubernetes_*.dsc src >/dev/null
  version="$(sed -n 's/^Version: .*really\([0-9.]*\)-.*/\1/p; t; s/^Version: \([0-9.]*\)-.*/\1/p' kubernetes_*.dsc | head -1)"
  cat >version <<V
KUBE_GIT_COMMIT='debian'
KUBE_GIT_TREE_STATE='archive'
KUBE_GIT_VERSION='v$version'
KUBE_GIT_MAJOR='$(echo "$version" | cut -d. -f1)'
KUBE_GIT_MINOR='$(echo "$version" | cut -d. -f2)'
V
  # As debian/rules builds kubectl: below a GOPATH, with the libraries that the source carries; nothing is fetched.
  mkdir -p src/.go/src/k8s.io
  ln -sfn ../../.. src/.go/src/k8s.io/kubernetes
  cd src/.go/src/k8s.io/kubernetes
  GOPATH="$here/src/.go" GOPROXY=off GOCACHE="$here/cache" HOME="$here/home" CGO_ENABLED=0 \
    KUBE_GIT_VERSION_FILE="$here/version" make WHAT=cmd/kube-apiserver
  cp _output/bin/kube-apiserver "$here/kube-apiserver"
  cd "$here"
  rm -rf src cache home parts lists ./*.dsc ./*.tar.*
fi
./kube-apiserver --version
