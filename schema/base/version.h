/* version.h: the program's version; the tape's own version is FORMAT_VERSION in schema/tape/format.h. */
#ifndef SCHEMA_BASE_VERSION_H
#define SCHEMA_BASE_VERSION_H

#define KUBETAPE_VERSION      "0.1.0"
#define KUBETAPE_VERSION_DATE "2026-11-21" /* of the manual pages */

#endif
