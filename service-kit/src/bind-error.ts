import { ConfigError } from "./config/config-error.js";
import { formatAddress, type ListenAddress } from "./config/listen-address.js";

/** A failure to listen, with advice. `key` is the option that holds the address. */
export function bindError(key: string, address: ListenAddress, error: Error): ConfigError {
  const where = `${key}: can't listen on ${formatAddress(address)}`;
  if (error.message.includes("EADDRINUSE")) {
    return new ConfigError([
      `${where}: another process has this port. Stop that one, or choose another port (0: any).`,
    ]);
  }
  if (error.message.includes("EACCES")) {
    return new ConfigError([`${where}: this user may not. Choose a port above 1023.`]);
  }
  if (error.message.includes("EADDRNOTAVAIL")) {
    return new ConfigError([`${where}: this machine has no such address.`]);
  }
  return new ConfigError([`${where}: ${error.message}`]);
}
