import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { append } from '../audit/audit';
import { Clock } from '../config/clock';
import { Database } from '../database/database';
import { BEFORE_ALL, newId } from '../database/new-id';
import { isTimeZone } from '../domain/business-day';
import { faultOfTemplate } from '../domain/remittance-template';
import { STRICT } from '../domain/fault-policy';
import { Allow } from '../http/allow';
import { decodeCursor, Page, pageOf, PageQuery } from '../http/cursor';
import { IdParam, showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { Me, SignedIn } from '../http/signed-in';
import { Employer } from './employer.entity';
import { employersSeenBy, findEmployer, lockEmployer } from './employer.store';
import { employerBody, EmployerItem, faultPolicyField, showEmployer } from './employer-view';
import { changedLimits, isLooser, NO_LIMITS, payLimitsField, showLimits } from './pay-limits';

/** The bounds of the schema: an instruction of one row is slow, one of more than 10,000 is rebuilt as slowly. */
const rowsPerInstruction = z.int().min(1).max(10_000);
const approvalsRequired = z.int().min(1).max(5);
const tickIbans = z.boolean().describe('Whether a run is approved only after its new IBANs were looked at.');
/** Up to a hundredfold: more would never be told. */
const netChangeBasisPoints = z
  .int()
  .min(0)
  .max(1_000_000)
  .describe('Net pay that differs from that before by more is told to the approver: 2000 is 20 %.');
const remittanceTemplate = z
  .string()
  .trim()
  .min(1)
  .max(140)
  .superRefine((text, context) => {
    const message = faultOfTemplate(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  })
  .nullable()
  .describe('Such as `Salary {period} {employer}`; also {kind_of_pay} and {employee_id}.');
const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be an IANA time zone such as Europe/Paris')
  .describe('Of a new schedule that names none. Dates and cut-offs are in the time zone of the bank.');
const name = z
  .string()
  .trim()
  .min(1)
  .max(70)
  .regex(/^\P{C}*$/u, 'must hold no control characters');

class NewEmployer extends createZodDto(
  z.strictObject({
    name,
    timeZone,
    rowsPerInstruction: rowsPerInstruction.default(500),
    approvalsRequired: approvalsRequired.default(1),
    tickIbans: tickIbans.default(true),
    netChangeBasisPoints: netChangeBasisPoints.default(2_000),
    remittanceTemplate: remittanceTemplate.default(null),
    faultPolicy: faultPolicyField.default(STRICT),
  }),
) {}

class EmployerChange extends createZodDto(
  z
    .strictObject({
      timeZone,
      rowsPerInstruction,
      approvalsRequired,
      tickIbans,
      netChangeBasisPoints,
      remittanceTemplate,
      faultPolicy: faultPolicyField,
      limits: payLimitsField,
    })
    .partial()
    .refine((change) => Object.keys(change).length > 0, 'must change something'),
) {}

class EmployerBody extends createZodDto(employerBody) {}
class EmployerPage extends createZodDto(
  z.object({ items: z.array(employerBody), nextCursor: z.string().nullable() }),
) {}

const position = z.object({ id: z.uuid() });

/** Employers and their settings. */
@ApiTags('employers')
@Controller('v1/employers')
export class EmployerController {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  @Post()
  @Allow('administrator')
  @ApiOperation({ summary: 'Creates an employer; nobody holds a role there yet' })
  @ApiCreatedResponse({ type: EmployerBody })
  create(@Me() me: SignedIn, @Body() body: NewEmployer): Promise<EmployerItem> {
    const now = this.clock.now();
    const employer = {
      ...body,
      ...NO_LIMITS,
      id: newId(now.getTime()),
      stoppedAt: null,
      stoppedReason: null,
      createdAt: now,
    };
    return this.database.inEmployer(employer.id, async (tx) => {
      await tx.manager.insert(Employer, employer);
      const { name: _name, ...settings } = body;
      await append(tx, {
        personId: me.personId,
        action: 'employer.created',
        subject: showId('emp', employer.id),
        detail: settings,
      });
      return showEmployer(employer);
    });
  }

  @Get()
  @Allow('any')
  @ApiOperation({ summary: 'The employers you may see, oldest first' })
  @ApiOkResponse({ type: EmployerPage })
  async list(@Me() me: SignedIn, @Query() { limit, cursor }: PageQuery): Promise<Page<EmployerItem>> {
    const after = cursor === undefined ? BEFORE_ALL : decodeCursor(cursor, position).id;
    const employers = await employersSeenBy(this.database, me, after, limit + 1);
    const { items, nextCursor } = pageOf(employers, limit, ({ id }) => ({ id }));
    return { items: items.map(showEmployer), nextCursor };
  }

  @Get(':employerId')
  @Allow('any', 'administrator')
  @ApiOperation({ summary: 'One employer' })
  @ApiOkResponse({ type: EmployerBody })
  async get(@Param('employerId', new IdParam('emp')) employerId: string): Promise<EmployerItem> {
    return showEmployer(await this.database.inEmployer(employerId, findEmployer));
  }

  @Patch(':employerId')
  @Allow('operator', 'administrator')
  @ApiOperation({
    summary: 'Changes settings; what loosens the checks of a run takes an administrator',
  })
  @ApiOkResponse({ type: EmployerBody })
  change(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Body() { limits, ...settings }: EmployerChange,
  ): Promise<EmployerItem> {
    return this.database.inEmployer(employerId, async (tx) => {
      const employer = await lockEmployer(tx);
      const payLimits = changedLimits(employer, limits ?? {});
      if ((loosens(employer, settings) || isLooser(employer, payLimits)) && !me.administrator) {
        const detail =
          'Only an administrator lowers the number of approvals, raises or takes away a limit, lets new IBANs go unticked, or larger changes of pay unnamed.';
        throw new Problem(403, 'ADMINISTRATOR_REQUIRED', detail);
      }
      await tx.manager.update(Employer, { id: employerId }, { ...settings, ...payLimits });
      await append(tx, {
        personId: me.personId,
        action: 'employer.changed',
        subject: showId('emp', employerId),
        detail: { ...settings, limits: limits && showLimits(payLimits) },
      });
      return showEmployer({ ...employer, ...settings, ...payLimits });
    });
  }
}

/** One person must not be able to take the second pair of eyes out of the way of their own payment. */
function loosens(employer: Employer, change: EmployerChange): boolean {
  const { approvalsRequired, tickIbans, netChangeBasisPoints } = employer;
  return (
    (change.approvalsRequired ?? approvalsRequired) < approvalsRequired ||
    (tickIbans && change.tickIbans === false) ||
    (change.netChangeBasisPoints ?? netChangeBasisPoints) > netChangeBasisPoints
  );
}
