import "./byte-order-marks.js";

export * from "./gen/reverie/memory/v1/memory_service_pb.js";
export * from "./gen/reverie/memory/v1/owner_service_pb.js";
export * from "./gen/reverie/memory/v1/trash_service_pb.js";
export * from "./gen/reverie/memory/v1/types_pb.js";
