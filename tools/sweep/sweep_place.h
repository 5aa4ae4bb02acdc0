/*
 * sweep_place.h: the results of a sweep in an object store, at s3://BUCKET/PREFIX. A sweep writes into a folder of this machine
 * all the same. Once it is over its files go to the store, and after all others sweep.json, without which nothing there is a
 * report. Errors are those of s3.h.
 */
#ifndef TOOLS_SWEEP_PLACE_H
#define TOOLS_SWEEP_PLACE_H

#include "schema/base/buf.h"
#include "tools/sweep/sweep_report.h"

#define SWEEP_REPORT_NAME "sweep.json"

/* Before the sweep: makes a temporary folder to write into, which the caller frees. ERR_USAGE if the store has a report there. */
int sweep_place_prepare(const char *url, char **ret_folder, struct err *err) MUST_CHECK;

/* After it: puts the folder's files there, and removes them here. On failure they stay, and the sentence says where. */
int sweep_place_store(const char *url, const char *folder, struct err *err) MUST_CHECK;

/* Instead: removes the folder, and what a sweep has written into it. */
void sweep_place_drop(const char *folder);

/* Appends the report that is there. */
int sweep_place_read(const char *url, struct buf *to, struct err *err) MUST_CHECK;

/* Makes the folder, and fetches the files of the place into it. */
int sweep_place_fetch(const char *url, const char *folder, struct err *err) MUST_CHECK;

/* Adds where a report is: at that URL or, if none is there, anywhere below it. The caller frees the texts. ERR_NOT_FOUND. */
int sweep_place_find(const char *url, struct text_list *to, struct err *err) MUST_CHECK;

/* Replaces one name of a folder by another in a text; the caller frees. */
char *sweep_move_text(const char *text, const char *from, const char *to);

/* Writes a report in which files of the report's folder are named as they are at that URL; NULL: as they are here. */
void sweep_place_tell(const char *url, void (*tell)(const struct sweep_report *r, FILE *to),
	const struct sweep_report *r, FILE *to);

#endif
