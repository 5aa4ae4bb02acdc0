/* version.c: see version.h. The libraries are those it runs with, not those it was built with. */
#include "tools/cli/version.h"

#include "schema/base/version.h"
#include "schema/run/run_file.h"
#include "schema/tape/format.h"

#include <archive.h>
#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <libfyaml.h>
#include <nghttp2/nghttp2.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <string.h>
#include <uv.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#ifndef KUBETAPE_COMMIT /* the Makefile tells it when it compiles, not when an editor does */
#define KUBETAPE_COMMIT "unknown"
#endif

static void version_print_libraries(FILE *to)
{
	unsigned xxhash = XXH_versionNumber();

	fprintf(to,
		"libraries: cJSON %s, curl %s, libarchive %s, libfyaml %s, libuv %s, nghttp2 %s, OpenSSL %s, ",
		cJSON_Version(), curl_version_info(CURLVERSION_NOW)->version,
		archive_version_string() + strlen("libarchive "), fy_library_version(), uv_version_string(),
		nghttp2_version(0)->version_str, OpenSSL_version(OPENSSL_VERSION_STRING));
	fprintf(to, "SQLite %s, xxHash %u.%u.%u, zlib %s, zstd %s\n", sqlite3_libversion(), xxhash / 10000,
		xxhash / 100 % 100, xxhash % 100, zlibVersion(), ZSTD_versionString());
}

void version_print(FILE *to)
{
	fprintf(to, "kubetape %s\n", KUBETAPE_VERSION);
	fprintf(to, "commit: %s\n", KUBETAPE_COMMIT);
	fprintf(to, "formats: tape %d, run %d\n", FORMAT_VERSION, RUN_VERSION);
	version_print_libraries(to);
}
