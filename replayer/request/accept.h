/*
 * accept.h: which form of the answer a client asks for. The bytes are JSON, or YAML if the client asks for
 * it; clients that prefer protobuf also read JSON, according to the answer's Content-Type. What counts is the
 * conversion: a Table, metadata only, or the object itself.
 */
#ifndef REPLAYER_ACCEPT_H
#define REPLAYER_ACCEPT_H

#include "schema/base/buf.h"

enum answer_form {
	FORM_OBJECT,       /* as recorded */
	FORM_TABLE,        /* as=Table */
	FORM_PARTIAL,      /* as=PartialObjectMetadata */
	FORM_PARTIAL_LIST, /* as=PartialObjectMetadataList */
};

struct accepted {
	enum answer_form form;
	bool beta;   /* meta.k8s.io/v1beta1 instead of v1 */
	bool pretty; /* the clause asked for pretty=1 */
	bool yaml;   /* it is one of YAML */
};

enum accept_failure {
	ACCEPT_OK,
	ACCEPT_NO_MEDIA_TYPE, /* no media type that the server has */
	ACCEPT_NO_CONVERSION, /* media types fit, but not the requested conversion */
};

/* Who reads the header: the API server's router knows its media types by heart, its handlers take
 * "application/" with a star, too, and those of custom resources have no protobuf of the objects themselves. */
enum accept_by { ACCEPT_BY_ROUTER, ACCEPT_BY_HANDLER, ACCEPT_BY_CUSTOM };

/* For resources. An empty header accepts everything. */
enum accept_failure accept_resource(struct slice header, enum accept_by by, struct accepted *ret);

/* For watches, which there are none of in YAML. */
enum accept_failure accept_stream(struct slice header, enum accept_by by, struct accepted *ret);

/* For documents that there are in JSON alone, as the router looks for it. */
bool accept_json(struct slice header);

/* Whether any clause takes a plain answer, as error bodies are: if none does they are indented JSON. */
bool accept_plain(struct slice header, bool *ret_yaml);

/* For /api and /apis: the aggregated form is wanted (1), the classic one (0), or neither is acceptable
 * (-1). */
int accept_aggregated_discovery(struct slice header);

/* The first of the media types ("application/json") that the clauses allow, best clause first, with asterisks
 * for either part; -1 if none does. An empty header allows all. */
int accept_choose(struct slice header, const char *const *types, size_t count);

#endif
