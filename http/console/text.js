// Text of agents, models and commands, made safe to show.

// Characters that change how other text is shown: C0 and C1 controls, zero-width and bidirectional ones.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/g;
// CSI and OSC sequences of terminals: a command's colours have no meaning here.
const TERMINAL = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

const named = (character) => `\u27e8U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;

// What a person must see exactly: each hidden character is named, and so is what begins an escape sequence.
export function exact(text) {
  return String(text ?? "").replace(HIDDEN, named);
}

// Output of a command: escape sequences are left out, a carriage return goes back to the line's beginning.
export function output(text) {
  return String(text ?? "")
    .replace(TERMINAL, "")
    .replace(/\r\n/g, "\n")
    .replace(/^[^\n]*\r(?!\n)/gm, "")
    .replace(HIDDEN, named);
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = Number(count), unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

// "3 min ago" of an RFC 3339 time; `now` in milliseconds.
export function ago(time, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

// How long until an RFC 3339 time: "in 40 s"; "now" if it has passed.
export function until(time, now = Date.now()) {
  const seconds = Math.round((Date.parse(time) - now) / 1000);
  if (seconds <= 0) return "now";
  return seconds < 120 ? `in ${seconds} s` : `in ${Math.round(seconds / 60)} min`;
}
