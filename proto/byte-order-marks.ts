import { configureTextEncoding, getTextEncoding } from "@bufbuild/protobuf/wire";

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

// protobuf-es's own decoder drops U+FEFF at the beginning of every string of a binary message: a text would not be
// stored as it was sent, and one owner's id would be another's.
configureTextEncoding({
  ...getTextEncoding(),
  decodeUtf8: (bytes, isStrict) => (isStrict ? strict : lenient).decode(bytes),
});
