/* import_internal.h: the importer's own state, shared by import.c (what others wrote), import_rows.c (what
 * `kubetape export` wrote), import_patch.c, import_poll.c, import_secrets.c, bundle_*.c and
 * bundle_internal.h. */
#ifndef TOOLS_IMPORT_INTERNAL_H
#define TOOLS_IMPORT_INTERNAL_H

#include "schema/base/text_map.h"
#include "tools/import/import.h"
#include "tools/import/import_ids.h"
#include "tools/import/import_known.h"
#include "tools/import/import_seqs.h"
#include "tools/import/kind_names.h"

/* A stream that was made for a kind of objects. */
struct kind_stream {
	char *api_version, *kind, *resource;
	char *by_kind, *by_resource; /* keys of the maps */
	uint32_t stream;
};

/* Something that was listed again and again (import_poll.c). */
struct import_path {
	char *path, *rv; /* rv: of the last list */
	uint32_t stream, resource, list_count;
	bool is_watched;
	int64_t last_ns; /* until when it is known */
};

/* A row that waits for the event after which it stood, or which it names. */
struct queued_row {
	int64_t after_seq;
	size_t number; /* in the input */
	char *line;
	int (*write)(struct importer *m, struct err *err);
};

/* Removes values of Secrets (import_secrets.c). */
struct import_secrets {
	const char *tape_path; /* the tape with the key beside it; NULL: values are kept */
	struct redactor *redactor;
	uint32_t *streams; /* ids of those of Secrets */
	size_t stream_count;
	struct buf object, tail, status; /* the replacement */
};

struct importer {
	struct tape_writer *writer;
	struct import_secrets secrets;
	const char *source;
	const struct clock *clock;
	int64_t last_time_ns;
	struct tape_connection connection; /* its content_type says what the input lacks */
	char *lacks;                       /* that, where it is made */
	struct kind_stream *kinds;
	size_t kind_count;
	struct kind_names names; /* what is known of kinds before their first object */
	struct text_map kinds_by_kind, kinds_by_resource; /* positions in kinds; of equal ones the first */
	uint64_t *uids; /* hashes of those that were seen, open addressing; 0: free */
	size_t uid_count, uid_slots;
	struct id_map streams, gaps, connections;
	struct import_seqs seqs; /* that rows name */
	struct queued_row *queue;
	size_t queue_count, queue_done;
	bool queue_sorted;
	struct import_path **paths;
	size_t path_count;
	struct text_map paths_by_path; /* the struct import_path */
	struct import_known known;
	uint64_t last_seq;                  /* on our tape */
	bool has_stream_row, has_event_row; /* of an exported tape */
	int64_t base_ns;                    /* when the import began */
	uint64_t made_rv;                   /* the last resourceVersion that was made up */
	struct buf texts; /* unescaped strings of the present document; never moves while one is read */
	struct slice document;
	struct import_counts counts;
};

/* The string at a path of the document, "" if there is none; terminated, valid until the next document. */
char *import_text(struct importer *m, const char *path);
/* The raw value, empty if there is none. */
struct slice import_raw(const struct importer *m, const char *path);
/* The integer, `fallback` if there is none. */
int64_t import_number(const struct importer *m, const char *path, int64_t fallback);

void import_secrets_init(struct import_secrets *s);
void import_secrets_release(struct import_secrets *s);

/* The writer's calls, for data that may hold values of Secrets. import_make_stream() sets the stream's
 * resource; import_clean_connection() puts borrowed replacements into the row, valid until the next
 * document. */
int import_make_stream(struct importer *m, const struct tape_resource *resource, struct tape_stream *stream,
	uint32_t *ret, struct err *err) MUST_CHECK;
int import_append(struct importer *m, const struct event *e, struct slice object, uint64_t *ret_seq,
	struct err *err) MUST_CHECK;
int import_mark(struct importer *m, struct tape_mark *mark, struct err *err) MUST_CHECK;
int import_clean_connection(struct importer *m, struct tape_connection *c, struct err *err) MUST_CHECK;

/* The plural that a kind most likely has; the caller frees. */
char *import_plural_of(const char *kind);

/* The newest time stamp that the server put into the object, 0 if there is none. */
int64_t import_time_in(struct slice object);

/* The stream of a resource in all namespaces. */
int import_stream(
	struct importer *m, const struct tape_resource *resource, uint32_t *ret, struct err *err) MUST_CHECK;

/* Records the source of the events and what they lack, once. */
int import_begin_connection(struct importer *m, const char *lacks, struct err *err) MUST_CHECK;

/* Appends an item of a list with the kind and apiVersion that it may have left out, EVENT_TYPED then. */
int import_typed_item(const struct list_page *list, struct slice item, struct buf *to, unsigned *ret_flags,
	struct err *err) MUST_CHECK;

struct import_kind {
	struct slice api_version, kind;
	const char *plural; /* NULL: to be made of the kind */
	bool namespaced;
};

/* The stream of a kind of objects. */
int import_stream_of_kind(
	struct importer *m, const struct import_kind *kind, uint32_t *ret, struct err *err) MUST_CHECK;
/* ... of the kind that this object is of. */
int import_stream_of_object(struct importer *m, const struct object_meta *meta, const char *plural,
	uint32_t *ret, struct err *err) MUST_CHECK;

/* One that was made before, else 0. */
uint32_t import_stream_of_resource(
	const struct importer *m, const char *group, const char *version, const char *resource);

/* 1 if the document was a record of k8shark, a patch of kwok; 0 if it is something else. */
int import_record(struct importer *m, struct err *err) MUST_CHECK;
int import_patch(struct importer *m, struct err *err) MUST_CHECK;

/* The document is an object without a resourceVersion. */
int import_snapshot(struct importer *m, const struct object_meta *meta, struct err *err) MUST_CHECK;

/* Writes the rows that stood before the exported event `seq`. */
int import_queued_rows(struct importer *m, int64_t seq, struct err *err) MUST_CHECK;

/* A row of a table that was exported; counted as left out when we know no such table. */
int import_row(struct importer *m, const char *table, struct err *err) MUST_CHECK;

#endif
