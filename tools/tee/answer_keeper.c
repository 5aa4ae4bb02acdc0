/* answer_keeper.c: see answer_keeper.h. */
#include "tools/tee/answer_keeper.h"

#include "schema/tape/codec.h"

#define PIECE_BYTES ((size_t)256 << 10)
#define LEVEL       1 /* written once, seldom read */

void answer_keeper_init(struct answer_keeper *k, struct run_file *file, uint64_t request)
{
	*k = (struct answer_keeper){.file = file, .request = request};
	buf_init(&k->raw, PIECE_BYTES);
}

void answer_keeper_release(struct answer_keeper *k)
{
	buf_release(&k->raw);
}

static void write_piece(struct answer_keeper *k)
{
	struct buf packed;

	buf_init(&packed, 2 * PIECE_BYTES);
	if (codec_pack(buf_slice(&k->raw), LEVEL, &packed, NULL) == 0)
		run_file_piece(k->file, &(struct run_piece_row){.request = k->request,
						.piece = ++k->pieces,
						.raw_bytes = k->raw.len,
						.data = buf_slice(&packed)});
	buf_release(&packed);
	buf_clear(&k->raw);
}

void answer_keeper_put(struct answer_keeper *k, struct slice bytes)
{
	while (bytes.len) {
		size_t room = PIECE_BYTES - k->raw.len, n = bytes.len < room ? bytes.len : room;

		if (buf_append(&k->raw, bytes.ptr, n, NULL) == 0 && k->raw.len == PIECE_BYTES)
			write_piece(k);
		bytes = (struct slice){bytes.ptr + n, bytes.len - n};
	}
}

void answer_keeper_end(struct answer_keeper *k)
{
	if (k->raw.len)
		write_piece(k);
	buf_release(&k->raw);
}
