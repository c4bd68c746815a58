#!/bin/sh
# Builds llama.cpp's own server from the source in node-llama-cpp's package, and runs it on the libraries that node-llama-cpp loads, so
# that both servers evaluate with the same machine code. Needs git, cmake and a compiler.
# bench/llama-server.sh FOLDER   then   node bench/serve.mjs --llama-server FOLDER/llama-server
# For a GPU (code installed by `npm run gpu`): bench/llama-server.sh FOLDER linux-x64-cuda (or linux-x64-vulkan)
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
modules=$(cd "$(dirname "$0")/../node_modules" && pwd)
package=$modules/node-llama-cpp/llama
libraries=$modules/@node-llama-cpp/${2:-linux-x64}/bins/${2:-linux-x64}

if [ ! -d "$folder/src" ]; then
    git clone --quiet "$package/gitRelease.bundle" "$folder/src"
    for patch in "$package"/patches/*.diff; do git -C "$folder/src" apply "$patch"; done
fi
cmake -S "$folder/src" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON \
    -DGGML_OPENMP=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF \
    -DCMAKE_PLATFORM_NO_VERSIONED_SONAME=ON > "$folder/cmake.log" 2>&1
nice cmake --build "$folder/build" --target llama-server -j "${JOBS:-2}" > "$folder/build.log" 2>&1

mkdir -p "$folder/bin"
for name in llama-server libllama-server-impl.so libllama-common.so libmtmd.so; do cp "$folder/build/bin/$name" "$folder/bin/"; done
for library in "$libraries"/libggml*.so "$libraries"/libllama.*.so; do ln -sf "$library" "$folder/bin/"; done
ln -sf "$libraries"/libllama.*v[0-9]*.so "$folder/bin/libllama.so"
ln -sf "$libraries"/libggml.*v[0-9]*.so "$folder/bin/libggml.so"
printf '#!/bin/sh\nexec env LD_LIBRARY_PATH="%s" "%s" "$@"\n' "$folder/bin" "$folder/bin/llama-server" > "$folder/llama-server"
chmod +x "$folder/llama-server"
"$folder/llama-server" --version
