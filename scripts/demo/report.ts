const useColor = process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== "dumb";

function paint(code: number, text: string): string {
  return useColor ? `\x1b[${code}m${text}\x1b[0m` : text;
}

export const bold = (text: string): string => paint(1, text);
export const dim = (text: string): string => paint(2, text);
export const green = (text: string): string => paint(32, text);
export const red = (text: string): string => paint(31, text);

let steps = 0;

/** Begins the next numbered step. */
export function step(title: string): void {
  steps++;
  process.stdout.write(`\n${bold(`${String(steps).padStart(2)}  ${title}`)}\n`);
}

export function say(line: string): void {
  process.stdout.write(`    ${line}\n`);
}

/** Something that was checked and held. */
export function ok(line: string): void {
  say(`${green("ok")} ${line}`);
}

/** A text from elsewhere on one line: without control characters, at most `max` characters. */
export function shown(text: string, max = 60): string {
  const plain = text.replace(/[\p{C}\s]+/gu, " ").trim();
  const characters = [...plain];
  return characters.length <= max ? plain : `${characters.slice(0, max - 1).join("")}…`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}
