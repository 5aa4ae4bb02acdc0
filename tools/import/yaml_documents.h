/*
 * yaml_documents.h: YAML documents one after the other, divided by lines of `---`, as JSON. The times that a
 * recording of kwok holds relative to its beginning, $(time-offset-nanosecond N), become times.
 */
#ifndef TOOLS_YAML_DOCUMENTS_H
#define TOOLS_YAML_DOCUMENTS_H

#include "tools/import/json_documents.h"

struct yaml_documents {
	struct json_documents *lines; /* the caller's */
	int64_t base_ns;              /* when the recording is taken to have begun */
	struct buf text;
	char *json;
};

void yaml_documents_init(struct yaml_documents *y, struct json_documents *lines, int64_t base_ns);
void yaml_documents_release(struct yaml_documents *y);

/* 1 and the next document, valid until the next call; 0 at the end. Empty documents are passed over. */
int yaml_documents_next(struct yaml_documents *y, struct slice *ret, struct err *err) MUST_CHECK;

#endif
