#!/usr/bin/env bash
# @rtk-query/codegen-openapi 2.2.0 (oazapfts 6.4.0): of the query parameters "rank" and
# "rank[$gt]" it makes two arguments, and an object that has the key "rank" twice. The
# generator does not warn, and esbuild bundles it with a warning: the last key wins, so
# that a call with the argument of "rank" has no query, and the server answers with all.
# Output seen: "{ queryRank: 5 } sends { rank: undefined }".
# Exits with an error if the argument is sent.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > openapi.json <<'JSON'
{
  "openapi": "3.0.3",
  "info": {"title": "x", "version": "1"},
  "paths": {"/posts": {"get": {
    "operationId": "findPosts",
    "parameters": [
      {"name": "rank", "in": "query", "schema": {"type": "integer"}},
      {"name": "rank[$gt]", "in": "query", "schema": {"type": "integer"}}
    ],
    "responses": {"200": {"description": "ok"}}
  }}}
}
JSON

# The part of createApi() that the generated code calls.
cat > empty.ts <<'TS'
const build = { query: (definition: any) => definition }
export const emptySplitApi = {
  injectEndpoints: ({ endpoints }: any) => endpoints(build),
}
TS
cat > config.json <<'JSON'
{"schemaFile": "./openapi.json", "apiFile": "./empty.ts", "apiImport": "emptySplitApi",
 "outputFile": "./api.ts", "exportName": "api"}
JSON

npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps \
    @rtk-query/codegen-openapi@2.2.0 oazapfts@6.4.0 esbuild@0.25.12
npx @rtk-query/codegen-openapi config.json >generated.log 2>&1
npx esbuild api.ts --bundle --platform=node --format=cjs --outfile=api.js >bundled.log 2>&1

node -e '
const { params } = require("./api.js").api.findPosts.query({ queryRank: 5 })
console.log("{ queryRank: 5 } sends", params)
process.exit(params.rank === undefined ? 0 : 1)'
