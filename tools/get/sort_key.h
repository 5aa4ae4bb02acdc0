/* sort_key.h: the order that `kubectl get --sort-by` puts values into. */
#ifndef TOOLS_SORT_KEY_H
#define TOOLS_SORT_KEY_H

#include "schema/base/buf.h"

/* Raw JSON; empty or null ones come first. Numbers by size, texts as quantities (500m, 2Gi) if both are, else by
 * their bytes: web-10 before web-9, as kubectl does since 1.31. */
int sort_key_compare(struct slice a, struct slice b);

#endif
