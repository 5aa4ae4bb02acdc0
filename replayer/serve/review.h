/*
 * review.h: questions about rights and identities, which programs ask before they start: everything is
 * allowed, everybody is known. They are POSTs that store nothing, so a replay can answer them.
 */
#ifndef REPLAYER_REVIEW_H
#define REPLAYER_REVIEW_H

#include "replayer/serve/call.h"

/* False if the request is not a review (nothing was answered). */
bool review_serve(struct api_call *call);

#endif
