/* beside.h: names of what belongs to a tape and stands beside it: "X.tape.key", "X.tape.pins". */
#ifndef SCHEMA_TAPE_BESIDE_H
#define SCHEMA_TAPE_BESIDE_H

/* The tape's path, without slashes at its end, and ".ENDING". The caller frees. */
char *tape_beside(const char *tape_path, const char *ending);

#endif
