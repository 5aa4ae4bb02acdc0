/* segment_facts.h: what a manifest says of a sealed segment, from the segment itself. */
#ifndef RECORDER_PUSH_SEGMENT_FACTS_H
#define RECORDER_PUSH_SEGMENT_FACTS_H

#include "recorder/push/manifest.h"

/* Both fill in members of the segment of number s->number, from its file. */

/* Reads the whole file: its size, sums and digest, and its events. ERR_CORRUPT, which names no file, if it is not as it was
 * sealed. */
int segment_facts(const char *path, struct manifest_segment *s, struct err *err) MUST_CHECK;

/* The events alone, from few pages. */
int segment_facts_events(const char *path, struct manifest_segment *s, struct err *err) MUST_CHECK;

#endif
