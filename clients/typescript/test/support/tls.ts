import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A fresh certificate for `reverie.test`, made by openssl; PEM. */
export async function selfSigned(): Promise<{ key: string; cert: string }> {
  const dir = await mkdtemp(join(tmpdir(), "reverie-client-tls-"));
  try {
    const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
    const names = ["-subj", "/CN=reverie.test", "-addext", "subjectAltName=DNS:reverie.test"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    await promisify(execFile)("openssl", [
      ...["req", "-x509", "-nodes", "-days", "1", "-keyout", key, "-out", cert],
      ...curve,
      ...names,
    ]);
    return { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
