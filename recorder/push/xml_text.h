/*
 * xml_text.h: the texts of elements in the small XML documents that AWS' services answer with: flat, without
 * attributes that matter, written by machines.
 */
#ifndef RECORDER_PUSH_XML_TEXT_H
#define RECORDER_PUSH_XML_TEXT_H

#include "schema/base/buf.h"

/* Returns the text between the first <tag> and </tag> in *from, and moves *from after it. False if there is
 * no such element; *from is unchanged then. */
bool xml_cut(struct slice *from, const char *tag, struct slice *ret);

/* The text of the first such element, its entities replaced; NULL without one. The caller frees. */
char *xml_text(struct slice document, const char *tag);

/* Decodes a text without elements. The caller frees. */
char *xml_unescape(struct slice text);

#endif
