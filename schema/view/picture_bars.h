/* picture_bars.h: one lane in pixels: stretches of a state, marks, changes, lives and replicas. */
#ifndef SCHEMA_VIEW_PICTURE_BARS_H
#define SCHEMA_VIEW_PICTURE_BARS_H

#include "schema/view/answer_out.h"
#include "schema/view/picture.h"

struct node;

/* Appends
 * `,"bars":[[x0,x1,state],..],"marks":[[x,note,"seq",count],..],"ticks":[x,..],"lives":[[x,"uid","seq"],
 * ..],"steps":[[x,wanted,ready],..]`. A closed lane also has the marks of the lanes below it. Of
 * those that share a pixel, the most important state and note are given. */
void picture_put_bars(struct answer_out *o, struct picture *p, const struct node *n, bool closed,
	const struct picture_window *w);

const char *picture_note_name(unsigned note);

#endif
