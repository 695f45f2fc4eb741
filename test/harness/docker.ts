// Whether a Docker engine answers, and which of some images it has already: asked over its socket with a short deadline,
// so that a machine without Docker loses no time.

import { request } from 'node:http';

const ANSWER_MS = 2000;

/** Status of one GET; null where nobody answers. */
function statusOf(path: string): Promise<number | null> {
  const host = process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock';
  const url = new URL(host);
  const target =
    url.protocol === 'unix:' ? { socketPath: url.pathname } : { host: url.hostname, port: Number(url.port || 2375) };
  return new Promise((resolve) => {
    const asked = request({ ...target, path, timeout: ANSWER_MS }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? null);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(null));
    asked.on('close', () => resolve(null));
    asked.end();
  });
}

export async function dockerAnswers(): Promise<boolean> {
  return (await statusOf('/_ping')) === 200;
}

/** The first of these images that needs no download. */
export async function localImage(images: readonly string[]): Promise<string | null> {
  for (const image of images) {
    if ((await statusOf(`/images/${image}/json`)) === 200) return image;
  }
  return null;
}
