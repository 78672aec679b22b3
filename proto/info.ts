import "./byte-order-marks.js";

export * from "./gen/reverie/info/v1/error_reason_pb.js";
export * from "./gen/reverie/info/v1/info_service_pb.js";
