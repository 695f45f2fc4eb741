// Messages to a modern client, put together from bytes: the id and the progress token as the client wrote them,
// members as the server wrote them, `resultType` and our own identity stamped on (protocol.md §1.5, §5.0 I10).

import { bytesOf, concat } from '@lockkeeper/protocol/json/compose';
import type { Implementation } from '@lockkeeper/protocol/mcp/capabilities';
import { SERVER_INFO } from '@lockkeeper/protocol/mcp/meta';

export interface ResultParts {
  readonly resultType: string;
  readonly members: Uint8Array;
  readonly meta?: string | undefined;
}

export interface ModernFrames {
  /** In pieces, so that a large one is not copied. */
  result(idText: string, parts: ResultParts): readonly Uint8Array[];
  progress(tokenText: string, members: Uint8Array): Uint8Array;
  log(members: Uint8Array): Uint8Array;
}

const COPIED_BYTES = 16 * 1024;
const TAIL = bytesOf('}}');

export function createModernFrames(serverInfo: Implementation): ModernFrames {
  const identity = `"_meta":{"${SERVER_INFO}":${JSON.stringify(serverInfo)}`;
  const complete = `,"result":{"resultType":"complete",${identity}`;
  return {
    result(idText, { resultType, members, meta }) {
      const opening =
        resultType === 'complete' ? complete : `,"result":{"resultType":${JSON.stringify(resultType)},${identity}`;
      const vendor = meta === undefined || meta === '' ? '' : `,${meta}`;
      const comma = members.length === 0 ? '}' : '},';
      const head = `{"jsonrpc":"2.0","id":${idText}${opening}${vendor}${comma}`;
      return members.length > COPIED_BYTES ? [bytesOf(head), members, TAIL] : [concat([head, members, '}}'])];
    },
    progress: (tokenText, members) => notification('notifications/progress', `"progressToken":${tokenText}`, members),
    log: (members) => notification('notifications/message', '', members),
  };
}

function notification(method: string, first: string, members: Uint8Array): Uint8Array {
  const comma = first === '' || members.length === 0 ? '' : ',';
  const opening = bytesOf(`{"jsonrpc":"2.0","method":"${method}","params":{${first}${comma}`);
  return concat([opening, members, '}}']);
}
