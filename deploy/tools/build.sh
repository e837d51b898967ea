#!/usr/bin/env bash
# Builds the Go programs of the tests (the tools of go.mod) once for each version, and prints their folder.
#
#   deploy/tools/build.sh            builds the programs if the folder does not exist, and prints the folder
#   deploy/tools/build.sh --folder   only prints the folder
#
# The folder is in the user's cache. Its name depends on go.mod and go.sum, so other versions get another folder.
# Exits with 3 if Go is not installed. A Go that is too old downloads the version that go.mod requires.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

key=$(cat go.mod go.sum | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16)
folder=${XDG_CACHE_HOME:-~/.cache}/msgsvc-opsd/tools/$(uname -sm | tr ' ' -)-$key
if [ "${1:-}" = --folder ] || [ -d "$folder" ]; then
  echo "$folder"
  exit
fi

# Go's installer uses /usr/local/go, which is not in every PATH.
if ! go=$(PATH="$PATH:/usr/local/go/bin" command -v "${GO:-go}"); then
  echo 'deploy/tools/build.sh: Go is not installed; install Go 1.26 or newer' >&2
  exit 3
fi
export GOTOOLCHAIN=auto GOFLAGS= GOWORK=off CGO_ENABLED=0

# Go downloads newer versions of itself since 1.21. For an older one, the same module is downloaded here.
minor=$("$go" env GOVERSION | sed 's/^go1\.\([0-9]*\).*/\1/')
if ((minor < 21)); then
  platform=$("$go" env GOOS)-$("$go" env GOARCH)
  wanted=golang.org/toolchain@v0.0.1-go$(sed -n 's/^go //p' go.mod).$platform
  root=$(cd / && "$go" mod download -json "$wanted" | sed -n 's/^[[:space:]]*"Dir": "\([^"]*\)".*/\1/p')
  chmod -R u+x "$root/bin" "$root/pkg/tool"
  go=$root/bin/go
fi

mkdir -p "${folder%/*}"
new=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$new" "$folder/${new##*/}"' EXIT
# Without inlining, the build takes two thirds of the time. The programs do little work.
"$go" build -p 2 -gcflags=all=-l -trimpath -buildvcs=false -ldflags='-s -w' -o "$new/" tool >&2
# If another build was faster, this moves the new folder into its folder, and the trap removes it.
mv "$new" "$folder"
echo "$folder"
