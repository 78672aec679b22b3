import { between, pick, type Random } from "../../lib/random.js";

const WORDS = [
  "the",
  "harbour",
  "freezes",
  "in",
  "März",
  "記憶",
  "🧊",
  'said "no"',
  "back\\slash",
  "line\nbreak",
  "\u2028",
  "İ",
  "ß",
];

/** Begins with the id and a space, so that a search finds it alone. Mostly short, sometimes some blocks long. */
export function sentText(random: Random, id: string): string {
  const words = random() < 0.03 ? between(random, 300, 1_000) : between(random, 1, 40);
  let text = `${id} `;
  for (let i = 0; i < words; i++) text += `${pick(random, WORDS)} `;
  return text;
}
