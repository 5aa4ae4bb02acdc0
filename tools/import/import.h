/*
 * import.h: makes a tape of other programs' output.
 *
 * One JSON document at a time, of any of these kinds:
 *   watch events     {"type":"ADDED","object":{...}}, as an API server or `kubectl get -w
 *                    --output-watch-events -o json` writes them; BOOKMARK and ERROR become marks
 *   objects          {"kind":"Pod",...}, as `kubectl get -w -o json` writes them: ADDED when the UID is new,
 *                    else MODIFIED. Deletions do not show in such a stream.
 *   lists            {"kind":"PodList","items":[...]}: items of a first list, and a mark after them
 *   exported rows    what `kubetape export` writes, with or without "table"
 *   records          of k8shark (import_poll.c): lists again and again, with gaps between them
 *   patches          of kwok (import_patch.c), and the objects without resourceVersions before them
 *
 * Missing facts are made up as little as possible, and the connection (purpose "import") records that:
 * resources are named after their kinds, and arrival times are those of reading, or of the newest time in the
 * object.
 *
 * To add a kind of document: a function that says whether it was one, in a file of its own if it is more than
 * a screen, and its place in the list of importer_add(), where the first that knows the document takes it; a
 * line above, in the description of cmd_import.c and in docs/tapes.md; a test in
 * tests/cli/test_query_import.py, and its form in tests/wire/test_import_canary.py, which looks for values of
 * Secrets on the tape. A format other than a stream of JSON documents needs a reader beside json_documents.h
 * (open_documents() of cmd_import.c chooses by the first bytes); a bundle of files needs a word of --from and
 * its files in bundle_layout.c.
 */
#ifndef TOOLS_IMPORT_H
#define TOOLS_IMPORT_H

#include "schema/tape/writer.h"

struct importer;

struct import_counts {
	uint64_t events, marks, rows;
	uint64_t left_out; /* documents of none of these kinds */
};

/* Times are those of `clock` where it is given, else taken from the objects. source: the file's name. */
struct importer *importer_new(struct tape_writer *w, const char *source, const struct clock *clock);
void importer_free(struct importer *m);

/* Replaces values of Secrets from now on, by digests under the key of the tape at that path, which is
 * borrowed. */
void importer_redact(struct importer *m, const char *tape_path);

/* After the last document, also after a failure. */
int importer_end(struct importer *m, struct err *err) MUST_CHECK;

/* A document that is of no known kind is counted, not refused. */
int importer_add(struct importer *m, struct slice document, struct err *err) MUST_CHECK;

struct import_counts importer_counts(const struct importer *m);

/* The origin of times that a recording has only relative to its beginning. */
int64_t importer_base_ns(const struct importer *m);

#endif
