/** A column with room for `capacity` entries, and what of the old one fits. */
export function resized<T extends Float64Array | Uint32Array | Uint16Array | Uint8Array>(
  column: T,
  capacity: number,
): T {
  const other = new (column.constructor as new (length: number) => T)(capacity);
  other.set(column.length > capacity ? column.subarray(0, capacity) : column);
  return other;
}
