// Reads nothing for START_MS (default 500), then is a good server. With START_FILE: until that file is there.
import { existsSync } from 'node:fs';
import { serve } from './stdio.mjs';

const { START_FILE, START_MS } = process.env;

function start() {
  if (START_FILE === undefined || existsSync(START_FILE)) serve();
  else setTimeout(start, 20);
}

setTimeout(start, Number(START_MS ?? (START_FILE === undefined ? 500 : 0)));
