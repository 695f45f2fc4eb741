// Fixture resources and the one template (conformance.md §4).

import { type Json, PNG, type ResourceDefinition } from './catalogue.ts';

export const RESOURCES: readonly ResourceDefinition[] = [
  {
    uri: 'test://static-text',
    name: 'static-text',
    description: 'Text that never changes.',
    mimeType: 'text/plain',
    contents: { text: 'This is the content of the static text resource.' },
  },
  {
    uri: 'test://static-binary',
    name: 'static-binary',
    description: 'A picture that never changes.',
    mimeType: 'image/png',
    contents: { blob: PNG },
  },
  {
    uri: 'test://watched-resource',
    name: 'watched-resource',
    description: 'Something to subscribe to.',
    mimeType: 'text/plain',
    contents: { text: 'Watched resource content' },
  },
];

export const TEMPLATES: readonly Json[] = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'Data by id.',
    mimeType: 'application/json',
  },
];

export function listed(): readonly Json[] {
  return RESOURCES.map(({ uri, name, description, mimeType }) => ({ uri, name, description, mimeType }));
}

/** Null: no such resource; the adapter answers as its era does. */
export function read(uri: string): Json | null {
  const known = RESOURCES.find((resource) => resource.uri === uri);
  if (known) return { contents: [{ uri, mimeType: known.mimeType, ...known.contents }] };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return null;
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: 'application/json', text: data }] };
}
