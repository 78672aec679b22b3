import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { ReverieError } from "../errors.js";

/** The local name of a method, such as `watch`. */
export type MethodName<Desc extends DescService> = keyof Desc["method"] & string;

export interface RpcServiceOptions<Desc extends DescService> {
  /** Methods that need no token: all, or some. Default none. */
  readonly public?: boolean | readonly MethodName<Desc>[];
  /** Methods that may stay open for ever. Default none. */
  readonly noLongestDeadline?: readonly MethodName<Desc>[];
}

/** A service's contract, its handlers, and what the guard must know. Made by `rpcService`. */
export interface RpcService {
  readonly desc: DescService;
  readonly methods: readonly RpcMethod[];
}

/** Takes a message, or an async iterable of them; returns a message, a promise of one, or an async iterable. */
export type AnyHandler = (request: unknown, context: HandlerContext) => unknown;

export interface RpcMethod {
  readonly desc: DescMethod;
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Bound to the implementation's object. */
  readonly handler: AnyHandler;
  readonly isPublic: boolean;
  readonly hasLongestDeadline: boolean;
}

/** Pairs a contract with its handlers, for `createServer`. */
export function rpcService<Desc extends DescService>(
  desc: Desc,
  impl: Partial<ServiceImpl<Desc>>,
  options: RpcServiceOptions<Desc> = {},
): RpcService {
  const open = options.public ?? false;
  const endless: readonly string[] = options.noLongestDeadline ?? [];
  const methods = desc.methods.map((method): RpcMethod => {
    const handler = (impl as Record<string, AnyHandler | undefined>)[method.localName];
    const publicNames: readonly string[] = typeof open === "boolean" ? [] : open;
    return {
      desc: method,
      path: `/${desc.typeName}/${method.name}`,
      handler: handler === undefined ? unimplemented(method) : (handler.bind(impl) as AnyHandler),
      isPublic: open === true || publicNames.includes(method.localName),
      hasLongestDeadline: !endless.includes(method.localName),
    };
  });
  return { desc, methods };
}

function unimplemented(method: DescMethod): AnyHandler {
  return () => {
    throw new ReverieError("UNIMPLEMENTED", `${method.parent.typeName}.${method.name} is not served here.`);
  };
}
