import { createParamDecorator, ExecutionContext } from '@nestjs/common';
import { readId } from '../http/prefixed-id';
import { SignedInRequest } from '../http/signed-in';

/** Which run, who asks, and the header `If-Match` where it was sent. Ids are UUIDs. */
export interface Command {
  employerId: string;
  payRunId: string;
  personId: string;
  ifMatch: string | undefined;
}

/** The command in a request to `employers/:employerId/pay-runs/:runId/…`: `@RunCommand() command: Command`. */
export const RunCommand = createParamDecorator((_: unknown, context: ExecutionContext): Command => {
  const request = context.switchToHttp().getRequest<SignedInRequest>();
  const { signedIn } = request;
  if (signedIn?.employerId === undefined) throw new Error('a command is given by a person at an employer');
  return {
    employerId: signedIn.employerId,
    payRunId: readId('run', String(request.params['runId'])),
    personId: signedIn.personId,
    ifMatch: request.get('if-match'),
  };
});
