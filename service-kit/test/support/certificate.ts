import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Makes a self-signed certificate for localhost with openssl; PEM files in `dir`. */
export function makeCertificate(dir: string, name = "cert"): { certFile: string; keyFile: string } {
  const [certFile, keyFile] = [join(dir, `${name}.pem`), join(dir, `${name}-key.pem`)];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const files = ["-keyout", keyFile, "-out", certFile];
  execFileSync("openssl", ["req", "-x509", ...curve, "-nodes", "-days", "1", ...files, ...subject], {
    stdio: "ignore",
  });
  return { certFile, keyFile };
}
