/*
 * assets.c: see assets.h. The Makefile compresses the files of replayer/view/page, the script's modules
 * joined into one, below VIEW_ASSETS; the assembler takes them in (.incbin, of GNU as).
 */
#include "replayer/view/assets.h"
#include "schema/base/count_of.h"

#include <zlib.h>

#define ASSET(symbol, file)                                                                                  \
	__asm__(".pushsection .rodata\n" #symbol "_begin:\n.incbin \"" VIEW_ASSETS file ".gz\"\n" #symbol    \
		"_end:\n.byte 0\n.popsection\n");                                                            \
	extern const char symbol##_begin[] __attribute__((visibility("hidden")));                            \
	extern const char symbol##_end[] __attribute__((visibility("hidden")))

ASSET(asset_page, "index.html");
ASSET(asset_script, "app.js");
ASSET(asset_style, "style.css");

const struct asset *asset_find(struct slice name)
{
	static struct asset all[] = {{"index.html", "text/html; charset=utf-8", {asset_page_begin, 0}},
		{"app.js", "text/javascript; charset=utf-8", {asset_script_begin, 0}},
		{"style.css", "text/css; charset=utf-8", {asset_style_begin, 0}}};
	const char *const ends[] = {asset_page_end, asset_script_end, asset_style_end};

	if (!name.len)
		name = slice_of("index.html");
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		if (!slice_is(name, all[i].name))
			continue;
		all[i].gzip.len = (size_t)(ends[i] - all[i].gzip.ptr);
		return &all[i];
	}
	return NULL;
}

int asset_inflate(const struct asset *a, struct buf *to, struct err *err)
{
	char piece[16384];
	z_stream z = {.next_in = (unsigned char *)a->gzip.ptr, .avail_in = (unsigned)a->gzip.len};
	int rc = inflateInit2(&z, 16 + MAX_WBITS), code = 0;

	while (rc == Z_OK && !code) {
		z.next_out = (unsigned char *)piece;
		z.avail_out = sizeof(piece);
		rc = inflate(&z, Z_NO_FLUSH);
		if (rc == Z_OK || rc == Z_STREAM_END)
			code = buf_append(to, piece, sizeof(piece) - z.avail_out, err);
	}
	inflateEnd(&z);
	if (!code && rc != Z_STREAM_END)
		code = err_set(err, ERR_FAILED, "cannot inflate '%s': zlib says %d", a->name, rc);
	return code;
}
