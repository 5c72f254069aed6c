// Numbers of a scenario, with their units, and sliders over them.

export interface Quantity {
  value: number;
  unit: string;
  /** Written between quotes. */
  quoted: boolean;
}

const NUMBER = /^\s*([0-9][0-9_]*(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµμ/]*)\s*$/;

/** The number that a value is, if it is one. */
export const quantity = (text: string): Quantity | undefined => {
  const quoted = /^(["']).*\1$/s.test(text);
  const found = NUMBER.exec(quoted ? text.slice(1, -1) : text);
  if (!found || quoted !== (found[2] !== "")) return undefined;
  return { value: Number(found[1]!.replaceAll("_", "")), unit: found[2]!, quoted };
};

export const written = ({ value, unit, quoted }: Quantity): string => {
  const plain = unit ? `${digits(value)} ${unit}` : digits(value);
  return quoted ? `"${plain}"` : plain;
};

const digits = (value: number) => String(Number(value.toPrecision(12)));

/** Factors from one unit to the smallest of its kind. */
const UNITS: Record<string, number>[] = [
  { ps: 1, ns: 1e3, us: 1e6, µs: 1e6, μs: 1e6, ms: 1e9, s: 1e12, min: 6e13, h: 3.6e15 },
  { B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
  { "b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12 },
];

/** The value in another unit of the same kind. */
export const inUnit = ({ value, unit }: Quantity, other: string): number | undefined => {
  const kind = UNITS.find((units) => unit in units && other in units);
  return unit === other ? value : kind && (value * kind[unit]!) / kind[other]!;
};

export interface Range {
  low: number;
  high: number;
  /** Positions are equal factors apart rather than equal differences. */
  log: boolean;
  /** A count: no fractions. */
  whole: boolean;
}

export const STEPS = 60;

/** What a slider covers if nobody says so: a sixteenth to sixteen times the value, a fraction from 0 to 1. */
export const rangeAround = ({ value, unit }: Quantity, isWhole: boolean): Range => {
  if (!unit && !isWhole && value <= 1) return { low: 0.02, high: Math.max(1, value), log: false, whole: false };
  if (value === 0) return { low: 0, high: 10, log: false, whole: isWhole };
  const low = isWhole ? Math.max(1, Math.round(value / 8)) : value / 16;
  return { low, high: isWhole ? value * 8 : value * 16, log: true, whole: isWhole };
};

export const toStep = (range: Range, value: number): number => {
  const at = range.log ? Math.log(value / range.low) / Math.log(range.high / range.low) : (value - range.low) / (range.high - range.low);
  return Math.min(STEPS, Math.max(0, Math.round(at * STEPS)));
};

/** The value at a step, rounded to what one would write; both ends as they are. */
export const fromStep = (range: Range, step: number): number => {
  if (step <= 0) return range.low;
  if (step >= STEPS) return range.high;
  const share = step / STEPS;
  const value = range.log ? range.low * (range.high / range.low) ** share : range.low + share * (range.high - range.low);
  return range.whole ? Math.round(value) : Number(value.toPrecision(2));
};
