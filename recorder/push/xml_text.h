/*
 * xml_text.h: the texts of elements in the small XML documents that AWS' services answer with: flat, without
 * attributes that matter, written by machines.
 */
#ifndef RECORDER_PUSH_XML_TEXT_H
#define RECORDER_PUSH_XML_TEXT_H

#include "schema/base/buf.h"

/* What stands between <tag> and </tag>, the first time in *from, which is left with what follows. False if there is no such
 * element; *from is as it was then. */
bool xml_cut(struct slice *from, const char *tag, struct slice *ret);

/* The text of the first such element, its entities replaced; NULL without one. The caller frees. */
char *xml_text(struct slice document, const char *tag);

/* What a text without elements stands for. The caller frees. */
char *xml_unescape(struct slice text);

#endif
