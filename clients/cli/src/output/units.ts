const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Such as `1.4 MiB`. */
export function bytes(count: number | bigint): string {
  let size = Number(count);
  let unit = 0;
  while (size >= 1024 && unit < BYTE_UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** Such as `1,234 memories`. */
export function count(number: number | bigint, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${Number(number) === 1 ? one : many}`;
}

const AGES: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, "day"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

/** `3 min ago`, `in 2 days`; the day from a month on. `iso` has the full time, UTC. */
export function when(ms: number | bigint, { iso = false, now = Date.now() } = {}): string {
  const at = Number(ms);
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return `${at} ms`;
  if (iso) return date.toISOString().replace(".000Z", "Z");
  const seconds = Math.round(Math.abs(now - at) / 1_000);
  if (seconds >= 30 * 86_400) return date.toISOString().replace(/T.*/, "");
  const [size, unit] = AGES.find(([size]) => seconds >= size) ?? [1, "s"];
  const number = Math.floor(seconds / size);
  if (seconds < 5) return "now";
  const text = `${number} ${unit === "day" && number > 1 ? "days" : unit}`;
  return at > now ? `in ${text}` : `${text} ago`;
}
