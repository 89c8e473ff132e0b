import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { Allow } from '../http/allow';
import { IdParam, showId } from '../http/prefixed-id';
import { reason, stoppedAt } from '../http/reason';
import { Me, SignedIn } from '../http/signed-in';
import { CarriedOutOnce, SkipIdempotency } from '../identity/idempotency.interceptor';
import { employerBody, EmployerItem, showEmployer } from './employer-view';
import { KillSwitch, ServiceStop, ServiceSwitch } from './kill-switch';

class Reason extends createZodDto(z.strictObject({ reason })) {}

class Resume extends createZodDto(
  z.strictObject({
    reason,
    stoppedAt,
    takesBack: z
      .int()
      .min(1)
      .optional()
      .describe(
        'How many stops this takes back, where it is more than one: each person’s stands with its reason, also where it came later.',
      ),
  }),
) {}

class EmployerBody extends createZodDto(employerBody) {}

const serviceBody = z.object({
  submitsOff: z.boolean(),
  reason: z.string().nullable().describe('Of each stop of a person, or of the service’s.'),
  changedAt: z.iso.datetime(),
});
const stopBody = z.object({ employerId: z.string(), kind: z.string(), stoppedAt: z.iso.datetime() });
const serviceStateBody = serviceBody.extend({
  stops: z
    .array(stopBody)
    .nullable()
    .describe('What keeps submits off besides a person; for administrators.'),
});
class ServiceStateBody extends createZodDto(serviceStateBody) {}
class ServiceBody extends createZodDto(serviceBody) {}

/** The kill switch of one employer: one person stops, another one resumes. */
@ApiTags('kill switch')
@Controller('v1/employers/:employerId')
export class EmployerSwitchController {
  constructor(private readonly killSwitch: KillSwitch) {}

  @Post('stop')
  @SkipIdempotency()
  @HttpCode(200)
  @Allow('operator', 'approver', 'finance')
  @ApiOperation({ summary: 'Stops whatever pay runs of this employer send to the bank' })
  @ApiOkResponse({ type: EmployerBody })
  async stop(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Body() { reason }: Reason,
  ): Promise<EmployerItem> {
    return showEmployer(await this.killSwitch.stopEmployer(employerId, me.personId, reason));
  }

  @Post('resume')
  @CarriedOutOnce()
  @HttpCode(200)
  @Allow('operator', 'approver')
  @ApiOperation({ summary: 'Lets the employer go on; not for the person who stopped it' })
  @ApiOkResponse({ type: EmployerBody })
  async resume(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Body() { reason, ...known }: Resume,
  ): Promise<EmployerItem> {
    return showEmployer(await this.killSwitch.resumeEmployer(employerId, me.personId, reason, known));
  }
}

/** The kill switch of the installation. */
@ApiTags('kill switch')
@Controller('v1/service')
export class ServiceSwitchController {
  constructor(private readonly killSwitch: KillSwitch) {}

  @Get()
  @Allow('any')
  @ApiOperation({ summary: 'Whether submits are off for everybody' })
  @ApiOkResponse({ type: ServiceStateBody })
  async get(@Me() me: SignedIn): Promise<z.infer<typeof serviceStateBody>> {
    const stops = me.administrator ? await this.killSwitch.stops() : undefined;
    return { ...show(await this.killSwitch.service()), stops: stops?.map(showStop) ?? null };
  }

  @Post('stop')
  @HttpCode(200)
  @Allow('administrator')
  @ApiOperation({ summary: 'Turns every submit of every employer off' })
  @ApiOkResponse({ type: ServiceBody })
  async stop(@Me() me: SignedIn, @Body() { reason }: Reason): Promise<z.infer<typeof serviceBody>> {
    return show(await this.killSwitch.stopService(me.personId, reason));
  }

  @Post('resume')
  @HttpCode(200)
  @Allow('administrator')
  @ApiOperation({ summary: 'Turns submits on again' })
  @ApiOkResponse({ type: ServiceBody })
  async resume(
    @Me() me: SignedIn,
    @Body() { reason, ...known }: Resume,
  ): Promise<z.infer<typeof serviceBody>> {
    return show(await this.killSwitch.resumeService(me.personId, reason, known));
  }
}

function showStop({ employerId, kind, stoppedAt }: ServiceStop): z.infer<typeof stopBody> {
  return { employerId: showId('emp', employerId), kind, stoppedAt: stoppedAt.toISOString() };
}

function show({ submitsOff, reason, changedAt }: ServiceSwitch): z.infer<typeof serviceBody> {
  return { submitsOff, reason, changedAt: changedAt.toISOString() };
}
