/*
 * fuzz_store_answer.c: what a store answers, and what people write for the AWS tools. Input: as a manifest, which is
 * written again when it is one; as XML; as a file of profiles.
 */
#include "recorder/push/aws_profile.h"
#include "recorder/push/manifest.h"
#include "recorder/push/xml_text.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void write_again(const struct manifest *m)
{
	struct manifest again;
	struct buf json;

	buf_init(&json, 64 << 20);
	fuzz_demand(manifest_format(m, &json, NULL) == 0);
	fuzz_demand(manifest_parse(buf_slice(&json), &again, NULL) == 0);
	fuzz_demand(again.segment_count == m->segment_count && again.loss_count == m->loss_count);
	manifest_release(&again);
	buf_release(&json);
}

static void read_profile(struct slice text, bool is_config)
{
	struct aws_profile p = {.name = xstrdup("a")};

	aws_profile_read(text, is_config, &p);
	aws_profile_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice text = {(const char *)bytes, len}, rest = text, element;
	struct manifest m;
	struct err err = {0};

	if (manifest_parse(text, &m, &err) == 0) {
		write_again(&m);
		manifest_release(&m);
	} else {
		fuzz_demand(err.text[0] != 0);
	}
	while (xml_cut(&rest, "Key", &element))
		free(xml_unescape(element));
	read_profile(text, false);
	read_profile(text, true);
	return 0;
}
