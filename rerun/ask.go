package rerun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightaudit/budget"
	"nightaudit/rerun/endpoint"
	"nightaudit/rerun/tools"
)

// settleTime is how long booking may take after the context has ended.
const settleTime = 10 * time.Second

// ErrTokens is returned when an attempt has used up its own tokens.
var ErrTokens = errors.New("the attempt's own limit of tokens is reached")

// ask sends one request: reserve, mark as sent, send, settle. The reservation is
// on the disk before the request is written.
func (a *attempt) ask(ctx context.Context) (endpoint.Reply, error) {
	prepared, err := a.Endpoint.Prepare(endpoint.Request{Messages: a.messages, Tools: a.offered})
	if err != nil {
		return endpoint.Reply{}, fmt.Errorf("build the request: %w", err)
	}
	if a.Limits.Tokens > 0 && a.out.Tokens+prepared.Bound() > a.Limits.Tokens {
		return endpoint.Reply{}, fmt.Errorf("%w: %d are booked, %d more may be needed, %d are allowed", ErrTokens, a.out.Tokens, prepared.Bound(), a.Limits.Tokens)
	}
	held, err := a.Account.Reserve(ctx, budget.Request{
		Tokens: prepared.Bound(), Now: a.Now(),
		Purpose: budget.Purpose{ClaimKey: a.item.Claims[0].Key, AttemptID: a.out.ID, Endpoint: a.Name, Model: a.Model},
	})
	if err != nil {
		return endpoint.Reply{}, err
	}
	if err := a.modelStep(ctx, held.ID); err != nil {
		return endpoint.Reply{}, errors.Join(err, a.Account.Void(context.WithoutCancel(ctx), held.ID, "not sent"))
	}
	if err := a.Account.MarkSent(ctx, held.ID); err != nil {
		return endpoint.Reply{}, errors.Join(err, a.Account.Void(context.WithoutCancel(ctx), held.ID, "not sent"))
	}
	reply, err := a.Endpoint.Do(ctx, prepared)
	book, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err != nil {
		return reply, errors.Join(err, a.settleFailure(book, held, err))
	}
	a.out.ModelCalls++
	if reply.Model != "" {
		a.out.Model = reply.Model
	}
	if err := a.settle(book, held, reply.Usage, reply.Model); err != nil {
		return reply, err
	}
	return reply, a.stepDone(book, true, "")
}

// settle books what was reported, or the whole reservation.
func (a *attempt) settle(ctx context.Context, held budget.Reservation, u *endpoint.Usage, model string) error {
	booked := budget.Usage{Model: model}
	a.out.Tokens += held.Tokens
	if u != nil {
		booked = budget.Usage{Prompt: u.Prompt, Completion: u.Completion, Total: u.Total, Reported: true, Model: model}
		a.out.Tokens += u.Total - held.Tokens
		if err := a.rec.Usage(tools.Usage{Time: a.Now(), Prompt: u.Prompt, Completion: u.Completion, Total: u.Total, Model: model}); err != nil {
			return errors.Join(fmt.Errorf("record the re-run: %w", err), a.Account.Settle(ctx, held.ID, booked))
		}
	}
	return a.Account.Settle(ctx, held.ID, booked)
}

// settleFailure books what a failed request may have cost.
func (a *attempt) settleFailure(ctx context.Context, held budget.Reservation, err error) error {
	var failed *endpoint.Error
	if !errors.As(err, &failed) {
		failed = &endpoint.Error{Billed: endpoint.BillingUnknown}
	}
	var booked error
	switch failed.Billed {
	case endpoint.BillingNot:
		booked = a.Account.Void(ctx, held.ID, budget.ReasonUnbilled)
	case endpoint.BillingReported:
		booked = a.settle(ctx, held, failed.Usage, "")
	default:
		booked = a.settle(ctx, held, nil, "")
	}
	return errors.Join(booked, a.stepDone(ctx, false, failed.Message))
}
