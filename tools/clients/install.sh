#!/usr/bin/env bash
# Installs the real clients: pyvespa and the vespa command into a Python environment, the Java feed client through Maven.
# They are kept in a cache outside of the repository (BROOKLET_CLIENTS), and installed again when their versions change.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${BROOKLET_CLIENTS:-$HOME/.cache/brooklet-clients}
mkdir -p "$cache"

# A stamp holds what was installed; it is written last.
if ! cmp -s "$here/requirements.txt" "$cache/requirements.txt"; then
  rm -rf "$cache/python" "$cache/requirements.txt"
  python3 -m venv "$cache/python"
  "$cache/python/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
  cp "$here/requirements.txt" "$cache/requirements.txt"
fi

if ! cmp -s "$here/java/pom.xml" "$cache/pom.xml" || [ ! -s "$cache/classpath" ]; then
  rm -f "$cache/pom.xml"
  mvn --quiet --batch-mode --file "$here/java/pom.xml" dependency:build-classpath -Dmdep.outputFile="$cache/classpath"
  cp "$here/java/pom.xml" "$cache/pom.xml"
fi
echo "clients: $cache"
