import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type {
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
} from "@grpc/grpc-js";
import { Metadata, status } from "@grpc/grpc-js";
import type {
  ForgetRequest,
  ForgetResponse,
  RecallRequest,
  RecallResponse,
  RememberManyRequest,
  RememberManyResponse,
} from "@reverie/proto/memory";
import { Kind, MemoryService, RecallResponseSchema } from "@reverie/proto/memory";
import { ErrorInfoSchema } from "@reverie/proto/rpc";
import { afterEach, describe, expect, test } from "vitest";
import type { GrpcJsTransport, GrpcJsTransportOptions } from "../src/index.js";
import { grpcJsTransport, parseAddress } from "../src/index.js";
import { decodeGrpcMessage } from "../src/transport/status.js";
import type { FakeServer, Handlers } from "./support/fake-server.js";
import { failure, startFake } from "./support/fake-server.js";

type Unary = (call: ServerUnaryCall<ForgetRequest, ForgetResponse>, reply: sendUnaryData<ForgetResponse>) => void;
type Stream = (call: ServerWritableStream<RecallRequest, RecallResponse>) => void;
type Upload = (
  call: ServerReadableStream<RememberManyRequest, RememberManyResponse>,
  reply: sendUnaryData<RememberManyResponse>,
) => void;

const open: (FakeServer | GrpcJsTransport)[] = [];
afterEach(() => {
  for (const it of open.splice(0)) "stop" in it ? it.stop() : it.close();
});

async function connect(handlers: Handlers, options: Partial<GrpcJsTransportOptions> = {}) {
  const server = await startFake(handlers);
  const transport = grpcJsTransport({ endpoint: parseAddress(server.address, false), ...options });
  open.push(transport, server);
  return { client: createClient(MemoryService, transport), transport, server };
}

const batch = (text: string) =>
  create(RecallResponseSchema, { event: { case: "batch", value: { entries: [{ id: "x", text }] } } });
const caught = (run: Promise<unknown>) =>
  run.then(
    () => {
      throw new Error("did not fail");
    },
    (error: unknown) => error as ConnectError,
  );

describe("unary", () => {
  test("message, headers and trailers both ways", async () => {
    let seen: Metadata | undefined;
    const forget: Unary = (call, reply) => {
      seen = call.metadata;
      const header = new Metadata();
      header.set("x-head", "h");
      call.sendMetadata(header);
      const trailer = new Metadata();
      trailer.set("x-raw-bin", Buffer.from([0, 255, 1]));
      reply(null, { found: call.request.id === "x", copies: 2, seq: 7n } as ForgetResponse, trailer);
    };
    const { client } = await connect({ forget }, { headers: { authorization: "Bearer t" } });
    let header: Headers | undefined;
    let trailer: Headers | undefined;
    const reply = await client.forget(
      { id: "x" },
      {
        headers: { "x-one": "1", "x-two-bin": "AP8" },
        onHeader: (h) => {
          header = h;
        },
        onTrailer: (t) => {
          trailer = t;
        },
      },
    );
    expect(reply).toMatchObject({ found: true, copies: 2, seq: 7n });
    expect(header?.get("x-head")).toBe("h");
    expect(trailer?.get("x-raw-bin")).toBe("AP8B");
    expect(seen?.get("authorization")).toEqual(["Bearer t"]);
    expect(seen?.get("x-one")).toEqual(["1"]);
    expect(seen?.get("x-two-bin")).toEqual([Buffer.from([0, 255])]);
  });

  test("128 in flight", async () => {
    const forget: Unary = (call, reply) =>
      setImmediate(() => reply(null, { copies: Number(call.request.id) } as ForgetResponse));
    const { client } = await connect({ forget });
    const replies = await Promise.all(Array.from({ length: 500 }, (_, n) => client.forget({ id: String(n) })));
    expect(replies.map((reply) => reply.copies)).toEqual(Array.from({ length: 500 }, (_, n) => n));
  });

  test("the deadline reaches the server and ends the call", async () => {
    let deadline: unknown;
    let cancelled = false;
    const forget: Unary = (call) => {
      deadline = call.getDeadline();
      call.on("cancelled", () => {
        cancelled = true;
      });
    };
    const { client } = await connect({ forget });
    const start = Date.now();
    const error = await caught(client.forget({ id: "x" }, { timeoutMs: 200 }));
    expect(error.code).toBe(Code.DeadlineExceeded);
    expect(Date.now() - start).toBeLessThan(1_500);
    expect(Number(deadline) - start).toBeLessThan(400);
    await expect.poll(() => cancelled).toBe(true);
  });

  test("cancel before and during the call keeps the reason", async () => {
    let cancelled = 0;
    let started = 0;
    const forget: Unary = (call) => {
      started++;
      call.on("cancelled", () => {
        cancelled++;
      });
    };
    const { client } = await connect({ forget });
    const gone = await caught(client.forget({ id: "x" }, { signal: AbortSignal.abort(new Error("why")) }));
    expect(gone.code).toBe(Code.Canceled);
    expect(started).toBe(0);
    const controller = new AbortController();
    const running = caught(client.forget({ id: "x" }, { signal: controller.signal }));
    await expect.poll(() => started).toBe(1);
    controller.abort(new Error("enough"));
    const error = await running;
    expect(error.code).toBe(Code.Canceled);
    expect(error.cause).toMatchObject({ message: "enough" });
    await expect.poll(() => cancelled).toBe(1);
  });

  test("many calls may share a signal", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    let started = 0;
    const forget: Unary = (call, reply) => {
      if (call.request.id === "quick") reply(null, {} as ForgetResponse);
      else started++;
    };
    const { client } = await connect({ forget });
    const controller = new AbortController();
    const { signal } = controller;
    await client.forget({ id: "quick" }, { signal });
    const calls = Array.from({ length: 40 }, (_, n) => caught(client.forget({ id: String(n) }, { signal })));
    await expect.poll(() => started).toBe(40);
    await client.forget({ id: "quick" }, { signal });
    controller.abort();
    expect(new Set((await Promise.all(calls)).map((error) => error.code))).toEqual(new Set([Code.Canceled]));
    await delay(10);
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  test("rich errors keep their details and the exact message", async () => {
    const message = "id: 100% of “a/b?c” & %41 %3A";
    const forget: Unary = (_call, reply) =>
      reply(failure(status.NOT_FOUND, message, { reason: "ENTRY_NOT_FOUND", metadata: { id: "x" } }));
    const { client } = await connect({ forget });
    const error = await caught(client.forget({ id: "x" }));
    expect(error).toBeInstanceOf(ConnectError);
    expect(error.code).toBe(Code.NotFound);
    expect(error.rawMessage).toBe(message);
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "ENTRY_NOT_FOUND", metadata: { id: "x" } }]);
  });

  test("broken details don't hide the status", async () => {
    const forget: Unary = (_call, reply) => {
      const metadata = new Metadata();
      metadata.set("grpc-status-details-bin", Buffer.from([0xff, 0xff]));
      reply({ code: status.ABORTED, details: "moved", metadata });
    };
    const { client } = await connect({ forget });
    expect(await caught(client.forget({ id: "x" }))).toMatchObject({ code: Code.Aborted, rawMessage: "moved" });
  });

  test("messages over 4 MiB are refused on both ways", async () => {
    const forget: Unary = (_call, reply) => reply(null, { found: true } as ForgetResponse);
    const getEntry = (_call: unknown, reply: sendUnaryData<unknown>) =>
      reply(null, { entry: { text: "x".repeat(4 * 1024 * 1024) } });
    const { client } = await connect({ forget, getEntry });
    const sent = await caught(client.forget({ id: "x".repeat(4 * 1024 * 1024) }));
    expect(sent.code).toBe(Code.ResourceExhausted);
    expect(sent.rawMessage).toContain("4194304");
    const received = await caught(client.getEntry({ id: "x" }));
    expect(received.code).toBe(Code.ResourceExhausted);
    expect(await client.forget({ id: "x" })).toMatchObject({ found: true });
  });

  test("a field of a wrong type fails before anything is sent", async () => {
    const { client } = await connect({});
    expect(
      (
        await caught(
          client
            .recall({ k: "x" as never })
            [Symbol.asyncIterator]()
            .next(),
        )
      ).code,
    ).toBe(Code.InvalidArgument);
  });

  test("close ends open calls and refuses new ones", async () => {
    let started = false;
    const forget: Unary = () => {
      started = true;
    };
    const { client, transport } = await connect({ forget });
    const running = caught(client.forget({ id: "x" }));
    await expect.poll(() => started).toBe(true);
    transport.close();
    transport.close();
    expect((await running).code).toBe(Code.Canceled);
    expect((await caught(client.forget({ id: "x" }))).code).toBe(Code.Canceled);
  });

  test("interceptors see each call, outermost first", async () => {
    const order: string[] = [];
    const forget: Unary = (call, reply) => {
      order.push(String(call.metadata.get("x-added")[0]));
      reply(null, { found: true } as ForgetResponse);
    };
    const recall: Stream = (call) => {
      call.write(batch("a"));
      call.end();
    };
    const { client } = await connect(
      { forget, recall },
      {
        interceptors: [
          (next) => (req) => {
            order.push("outer");
            return next(req);
          },
          (next) => (req) => {
            order.push("inner");
            req.header.set("x-added", "yes");
            return next(req);
          },
        ],
      },
    );
    await client.forget({ id: "x" });
    expect(order).toEqual(["outer", "inner", "yes"]);
    const messages = [];
    for await (const message of client.recall({})) messages.push(message);
    expect(messages).toHaveLength(1);
  });
});

describe("streams", () => {
  test("server streaming, then an error after messages", async () => {
    const recall: Stream = (call) => {
      call.write(batch("a"));
      setTimeout(() => call.emit("error", failure(status.DATA_LOSS, "bad line", { reason: "ENTRY_CORRUPT" })), 50);
    };
    const { client } = await connect({ recall });
    const it = client.recall({})[Symbol.asyncIterator]();
    expect((await it.next()).value?.event).toMatchObject({ case: "batch" });
    const error = await caught(it.next());
    expect(error).toMatchObject({ code: Code.DataLoss, rawMessage: "bad line" });
  });

  test("a slow reader holds the server back, and loses nothing", async () => {
    const total = 400;
    let written = 0;
    const recall: Stream = async (call) => {
      for (; written < total; written++) await new Promise((resolve) => call.write(batch("x".repeat(60_000)), resolve));
      call.end();
    };
    const { client } = await connect({ recall });
    let read = 0;
    for await (const _ of client.recall({})) {
      if (++read === 3) {
        await delay(300);
        // 24 MB in all; what may be under way is bounded by HTTP/2's windows and the socket.
        expect(written).toBeLessThan(100);
      }
    }
    expect(read).toBe(total);
  });

  test("a slow server holds the writer back, and gets everything", async () => {
    const total = 400;
    let got = 0;
    const rememberMany: Upload = async (call, reply) => {
      for await (const request of call) {
        if (++got === 3) await delay(300);
        expect(request.entries).toHaveLength(1);
      }
      reply(null, { received: BigInt(got) } as RememberManyResponse);
    };
    const { client } = await connect({ rememberMany });
    let pulled = 0;
    let pulledWhileStalled = 0;
    async function* input() {
      for (; pulled < total; pulled++) {
        if (got <= 3) pulledWhileStalled = pulled;
        yield { entries: [{ kind: Kind.WORKING, text: "x".repeat(60_000) }] };
      }
    }
    expect((await client.rememberMany(input())).received).toBe(BigInt(total));
    expect(pulledWhileStalled).toBeLessThan(100);
  });

  test("the server may answer before the upload is done", async () => {
    let returned = false;
    const rememberMany: Upload = (call, reply) => {
      call.once("data", () => reply(null, { stopped: true } as RememberManyResponse));
    };
    const { client } = await connect({ rememberMany });
    async function* input() {
      try {
        for (;;) yield { entries: [{ text: "x".repeat(10_000) }] };
      } finally {
        returned = true;
      }
    }
    expect((await client.rememberMany(input())).stopped).toBe(true);
    await expect.poll(() => returned).toBe(true);
  });

  test("an input that throws cancels the call and keeps the cause", async () => {
    let cancelled = false;
    const rememberMany: Upload = (call) => {
      call.on("cancelled", () => {
        cancelled = true;
      });
      call.resume();
    };
    const { client } = await connect({ rememberMany });
    async function* input() {
      yield { entries: [{ text: "x" }] };
      await delay(50);
      throw new Error("disk gone");
    }
    const error = await caught(client.rememberMany(input()));
    expect(error.cause).toMatchObject({ message: "disk gone" });
    await expect.poll(() => cancelled).toBe(true);
  });

  test("bidirectional", async () => {
    // The contract has none; the adapter takes it all the same.
    const recall = (call: ServerDuplexStream<RecallRequest, RecallResponse>) => {
      call.on("data", (request: RecallRequest) => call.write(batch(request.text)));
      call.on("end", () => call.end());
    };
    const service = {
      ...MemoryService,
      method: { recall: { ...MemoryService.method.recall, methodKind: "bidi_streaming" } },
    };
    const methods = [{ ...MemoryService.method.recall, methodKind: "bidi_streaming" as const }];
    const server = await startFake({ recall }, { services: [{ ...service, methods }] as never });
    const transport = grpcJsTransport({ endpoint: parseAddress(server.address, false) });
    open.push(transport, server);
    async function* input() {
      yield { text: "a" };
      yield { text: "b" };
    }
    const response = await transport.stream(methods[0] as never, undefined, undefined, undefined, input() as never);
    const texts: string[] = [];
    for await (const message of response.message as AsyncIterable<RecallResponse>) {
      if (message.event.case === "batch") texts.push(...message.event.value.entries.map((entry) => entry.text));
    }
    expect(texts).toEqual(["a", "b"]);
  });

  test("cancel and deadline during a stream", async () => {
    let cancelled = 0;
    const recall: Stream = (call) => {
      call.on("cancelled", () => {
        cancelled++;
      });
      call.write(batch("a"));
    };
    const { client } = await connect({ recall });
    const controller = new AbortController();
    const it = client.recall({}, { signal: controller.signal })[Symbol.asyncIterator]();
    await it.next();
    setTimeout(() => controller.abort(), 20);
    expect((await caught(it.next())).code).toBe(Code.Canceled);
    const timed = client.recall({}, { timeoutMs: 150 })[Symbol.asyncIterator]();
    await timed.next();
    expect((await caught(timed.next())).code).toBe(Code.DeadlineExceeded);
    await expect.poll(() => cancelled).toBe(2);
  });
});

describe("grpc-message as grpc-js shows it", () => {
  test.each([
    ["plain", "plain"],
    ["owner%3A agent%2Fx%3F", "owner: agent/x?"],
    // decodeURI gave up on these as a whole.
    ["100% of %E8%A8%AD%E8%A8%88", "100% of 設計"],
    ["%E8%A8 cut", "%E8%A8 cut"],
    ["%zz", "%zz"],
    ["%41 stays: it can only be meant", "%41 stays: it can only be meant"],
  ])("%s", (shown, meant) => {
    expect(decodeGrpcMessage(shown)).toBe(meant);
  });
});
