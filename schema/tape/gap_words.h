/* gap_words.h: why a stream was not watched, in words. */
#ifndef SCHEMA_TAPE_GAP_WORDS_H
#define SCHEMA_TAPE_GAP_WORDS_H

/* "the connection was reset" for "reset"; the word itself when there is nothing to add. */
const char *gap_reason_words(const char *reason);

#endif
