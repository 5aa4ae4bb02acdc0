/* run_beside.h: the default path of a tape's run. */
#ifndef TOOLS_RUN_BESIDE_H
#define TOOLS_RUN_BESIDE_H

/* "X.run" for "X.tape"; other names get ".run" after them. The caller frees. */
char *run_beside(const char *tape);

#endif
