#!/bin/sh
# Installs the package into a folder for an image: sh install.sh PACKAGE.tgz FOLDER yes|no (the last word: with the engine and its CUDA code).
set -eu
package=$(readlink -f "$1")
folder=$2
engine=
if [ "$3" = yes ]; then engine=node-llama-cpp@3.21.1; fi

# The headers next to this Node spare npm the download if it has to compile.
prefix=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
if [ -e "$prefix/include/node/node.h" ]; then export npm_config_nodedir="$prefix"; fi

mkdir -p "$folder"
cd "$folder"
echo '{ "private": true, "allowScripts": { "better-sqlite3": true } }' > package.json
# $engine is one word or none.
npm install --ignore-scripts --no-audit --no-fund "$package" $engine
npm rebuild better-sqlite3
# llama.cpp's code for AMX answers wrongly in some settings; without it the engine takes the next best code.
rm -f node_modules/@node-llama-cpp/*/bins/*/libggml-cpu-sapphirerapids.so
# Only the compiler needs them.
rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src
