import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

export type HttpRequest = IncomingMessage | Http2ServerRequest;
// The two response types agree on what we call; a union of them can't be called at all.
export type HttpResponse = ServerResponse & Pick<Http2ServerResponse, "setTimeout">;
